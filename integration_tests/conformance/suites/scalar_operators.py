"""Every registered operator of namespace aten that takes and gives no tensor: numbers, strings, lists and dicts. An archive
for each schema calls it as serialized code does, over values at the edges of its types, COMBINATIONS of them where there
are more."""

import io
import itertools
import math
import random
import zipfile

import torch

from integration_tests.conformance import making
from integration_tests.conformance.case import Case

NAME = "scalar_operators"
TITLE = "Operators on numbers, strings, lists and dicts: each registered schema over values at the edges"

COMBINATIONS = 16
# What reaches outside of the program: global state, files, other machines.
OUTSIDE = {
    "manual_seed", "seed", "initial_seed", "set_grad_enabled", "save", "load", "warn", "to_here", "confirmed_by_owner",
    "owner", "owner_name", "is_owner", "wait", "local_value", "set_data", "hash",
}  # fmt: skip
# Some of torch's loop for ever, taking memory, when what they look for is empty.
NOTHING_TO_FIND = {"replace", "count", "rsplit", "split", "find", "rfind", "index", "rindex", "partition", "rpartition"}

# Those of torch loop or fill memory where a size is negative or huge, and crash where a number means no dtype.
BOUNDED = {
    **{name: [0, 1, 2, 7, 63] for name in ("center", "ljust", "rjust", "zfill", "expandtabs", "mul", "mul_")},
    **{name: list(range(8)) for name in ("promote_types", "can_cast", "result_type")},
}

_NUMBERS = {
    "int": [0, 1, -1, 2, 7, -8, 63, 1 << 31, -(1 << 31), (1 << 62) + 1],
    "float": [0.0, -0.0, 1.5, -2.5, 0.5, 3.0, 1e10, 123456.789, math.inf, -math.inf, math.nan],
    "bool": [True, False],
    "complex": [0j, 1 + 2j, -1.5 - 0.5j, 2 + 0j],
    "str": ["abc", "Hello World", " x y ", "1", "-2.5", "a,b,,c", "é", "0x1f", "%d %s", "ABC\tdef\n", ""],
}
_VALUES = {
    **_NUMBERS,
    "number": [2, -3, 0, 1.5, -0.5],
    "Optional[int]": [None, 2, -1],
    "Optional[str]": [None, ",", "b"],
}
_CONTAINED = "int"  # what a type variable stands for


def cases(folder, quick):
    items = [{"name": f"{index}.{schema.name.removeprefix('aten::')}"} for index, schema in enumerate(_schemas())]
    if quick:
        items = [items[i] for i in making.spread(len(items), 40)]
    yield from making.made("integration_tests.conformance.suites.scalar_operators:make", items, folder)


_SCHEMAS = []


def _schemas():
    if not _SCHEMAS:
        every = [s for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")]
        every = [s for s in every if s.name.removeprefix("aten::") not in OUTSIDE and _argument_types(s) is not None]
        _SCHEMAS.extend(sorted(every, key=str))
    return _SCHEMAS


def _argument_types(schema):
    """As TorchScript writes them; None if one of them is not for this suite."""
    types = [_concrete(argument.type.annotation_str) for argument in schema.arguments]
    results = [_concrete(result.type.annotation_str) for result in schema.returns]
    known = all(_values(name) is not None for name in types) and len(results) <= 1
    return types if known and types and "Tensor" not in str(results) else None


def _concrete(annotation):
    words = annotation.replace("[", " [ ").replace("]", " ] ").replace(",", " , ").split()
    return "".join(_CONTAINED if word in ("t", "tVal") else ", " if word == "," else word for word in words)


def _values(name):
    if name in _VALUES:
        return _VALUES[name]
    kind, _, inner = name.partition("[")
    inner = inner.removesuffix("]")
    if kind == "List" and inner in _NUMBERS:
        several = _NUMBERS[inner][:4]
        return [several, several[::-1] + several[:1], several[:1], []]
    key, _, element = inner.partition(", ")
    if kind == "Dict" and key in _NUMBERS and element == _CONTAINED:
        keys = _NUMBERS[key][:3]
        return [{key: index + 5 for index, key in enumerate(keys)}, {keys[0]: 3}, {}]
    return None


def make(item):
    """One schema's archive, and the values it is called with."""
    folder = making.folder_of(item)
    schema = _schemas()[int(item["name"].partition(".")[0])]
    name = str(schema).removeprefix("aten::")
    path = folder / "a.pt"
    try:
        path.write_bytes(_archive(_source(schema)))
        torch.jit.load(str(path))
    except Exception as error:
        return {"cases": [], "unmade": [f"{name}: {making.line(error)}"]}
    made = []
    for index, values in enumerate(_combinations(schema)):
        inputs = folder / f"{index}.in.pt"
        making.save_inputs(values, inputs)
        shown = ", ".join(repr(value) for value in values)
        case = Case(f"{name}/{shown}", schema.name.removeprefix("aten::"), str(path), str(inputs), timeout=20)
        made.append(case.to_json())
    return {"cases": made, "unmade": []}


def _combinations(schema):
    choices = []
    for index, name in enumerate(_argument_types(schema)):
        values = _values(name)
        if index and name in ("str", "Optional[str]") and schema.name.removeprefix("aten::") in NOTHING_TO_FIND:
            values = ["b", ",", "ab", " "]
        if name == "int":
            values = BOUNDED.get(schema.name.removeprefix("aten::"), values)
        if "!" in str(schema):  # an empty list cannot be handed to torch.jit by reference
            values = [value for value in values if value not in ([], {})]
        choices.append(values)
    every = list(itertools.islice(itertools.product(*choices), 20000))
    return random.Random(str(schema)).sample(every, min(COMBINATIONS, len(every)))


def _source(schema):
    types = _argument_types(schema)
    names = [f"a{index}" for index in range(len(types))]
    formals = "".join(f",\n    {name}: {type_name}" for name, type_name in zip(names, types))
    call = f"torch.{schema.name.removeprefix('aten::')}({', '.join(names)})"
    result = _concrete(schema.returns[0].type.annotation_str) if schema.returns else types[0]
    body = [f"_0 = {call}", "return _0"] if schema.returns else [call, "return a0"]
    return (
        "class PlaceholderModule(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
        f"  def forward(self: __torch__.PlaceholderModule{formals}) -> {result}:\n"
        + "".join(f"    {line}\n" for line in body)
    )


def _archive(source):
    """An archive with this code: torch.jit.save's of an empty program, its code exchanged. What serialized code may call
    is more than what Python's torch has names for."""
    saved = io.BytesIO()
    torch.jit.save(torch.jit.CompilationUnit("def f():\n    return 0\n").f, saved)
    out = io.BytesIO()
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(out, "w") as new:
        for record in old.infolist():
            if record.filename.endswith(".debug_pkl"):
                continue
            content = old.read(record)
            new.writestr(record.filename, source if record.filename.endswith("/__torch__.py") else content)
    return out.getvalue()

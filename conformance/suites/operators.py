"""Every operator of torch's own operator database, scripted where a script can say the call, else traced.

Samples: of float32 all, or LIMIT of them spread evenly where there are more; of the other dtypes one. Forms: the function
for every sample; method, in-place and out= for FORM_LIMIT samples of an operator."""

import copy
import hashlib
import json
import random
import warnings
from pathlib import Path

import torch

from conformance import ROOT, workers
from conformance.case import Case

NAME = "operators"
TITLE = "Operators: torch's operator database (op_db), each sample as an archive"

LIMIT = 100
FORM_LIMIT = 5
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64)
# What their memory holds is nobody's business.
UNINITIALIZED = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_",
}  # fmt: skip


def cases(folder, quick, device="cpu"):
    folder = folder / device
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{op.name}|{op.variant_test_name}" for op in _database()]
    items = [{"folder": str(folder), "op": name, "device": device, "quick": quick} for name in names]
    made, missing = {}, []
    for item in items:
        manifest = _manifest(item)
        if manifest.exists() and (content := json.loads(manifest.read_text()))["made_by"] == _made_by():
            made[item["op"]] = content
        else:
            missing.append(item)
    for item, answer in workers.each("conformance.suites.operators:make", missing, timeout=600):
        if isinstance(answer, workers.Died):
            answer = {"made_by": _made_by(), "cases": [], "unmade": [f"making them: {answer}"]}
            _manifest(item).write_text(json.dumps(answer))
        made[item["op"]] = answer
    for name in names:
        for fields in made[name]["cases"]:
            yield Case.from_json(fields)


def _manifest(item):
    return Path(item["folder"]) / f"{item['op'].replace('|', '.')}{'.quick' if item['quick'] else ''}.json"


def _made_by():
    source = (ROOT / "conformance" / "suites" / "operators.py").read_bytes()
    return hashlib.sha256(source + torch.__version__.encode()).hexdigest()[:16]


_OPS = []


def _database():
    if not _OPS:
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db  # takes seconds

        _OPS.extend(op_db)
    return _OPS


def make(item):
    """The archives and inputs of one operator, as the manifest that says what they are."""
    torch.set_num_threads(1)
    op = next(op for op in _database() if f"{op.name}|{op.variant_test_name}" == item["op"])
    maker = _Maker(op, item)
    maker.folder.mkdir(exist_ok=True)
    for dtype in DTYPES if item["device"] == "cpu" and not item["quick"] else DTYPES[:1]:
        if dtype in op.supported_dtypes(item["device"]):
            maker.make_dtype(dtype)
    manifest = {"made_by": _made_by(), "cases": [case.to_json() for case in maker.cases], "unmade": maker.unmade}
    _manifest(item).write_text(json.dumps(manifest))
    return manifest


class _Maker:
    def __init__(self, op, item):
        self.op = op
        self.device, self.quick = item["device"], item["quick"]
        self.group = op.name + (f" ({op.variant_test_name})" if op.variant_test_name else "")
        self.folder = Path(item["folder"]) / item["op"].replace("|", ".")
        self.cases, self.unmade = [], []

    def make_dtype(self, dtype):
        samples = self._samples(dtype)
        chance = random.Random(f"{self.group} {dtype}")
        if dtype != torch.float32 or self.quick:
            # The first that can be made, in an order that is not always the simplest one first.
            order = chance.sample(range(len(samples)), len(samples))
            for index in order[:8]:
                if self._make(samples[index], dtype, index, "function"):
                    break
            return
        for index in _spread(len(samples), LIMIT):
            self._make(samples[index], dtype, index, "function")
        few = _spread(len(samples), FORM_LIMIT)
        for form, exists in [
            ("method", self.op.method_variant), ("inplace", self.op.inplace_variant), ("out", self.op.supports_out),
        ]:  # fmt: skip
            if exists:
                for index in few:
                    self._make(samples[index], dtype, index, form)

    def _samples(self, dtype):
        torch.manual_seed(0)
        random.seed(0)
        import numpy

        numpy.random.seed(0)
        try:
            return list(self.op.sample_inputs(self.device, dtype, requires_grad=False))
        except Exception as error:
            self.unmade.append(f"{dtype}: its samples: {_line(error)}")
            return []

    def _make(self, sample, dtype, index, form):
        """Whether there is a case now."""
        if form == "inplace" and sample.broadcasts_input:
            return False
        name = f"{self.group}/{str(dtype).removeprefix('torch.')}/{index}/{form}"
        arguments = [sample.input, *sample.args]
        keywords = dict(sample.kwargs)
        try:
            if form == "out":
                keywords["out"] = self._out(arguments, keywords)
        except Exception as error:
            self.unmade.append(f"{name}: {_line(error)}")
            return False
        problems = []
        for how, build in (("script", self._script), ("trace", self._trace)):
            try:
                archive, inputs = build(form, arguments, keywords)
                self._add(f"{name}.{how}", archive, inputs)
                return True
            except Exception as error:
                problems.append(f"{how}: {_line(error)}")
        self.unmade.append(f"{name}: {'; '.join(problems)}")
        return False

    def _out(self, arguments, keywords):
        result = self.op.op(*_clone(arguments), **_clone(keywords))
        if not isinstance(result, torch.Tensor):
            raise ValueError("several results")
        return torch.zeros_like(result)

    def _script(self, form, arguments, keywords):
        writer = _CallWriter()
        source = writer.source(self.op, form, arguments, keywords)
        path = self.folder / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.pt"
        function = torch.jit.CompilationUnit(source).call
        with torch.no_grad():
            function(*_clone(writer.inputs))
        if not path.exists():
            torch.jit.save(function, str(path))
        return path, writer.inputs

    def _trace(self, form, arguments, keywords):
        function = {"function": self.op.op, "out": self.op.op, "method": self.op.method_variant,
                    "inplace": self.op.inplace_variant}[form]  # fmt: skip
        tensors = []
        shape = _lift((arguments, keywords), tensors)

        def call(*values):
            args, kwargs = _lower(shape, values)
            return function(*args, **kwargs)

        with torch.no_grad():
            traced = torch.jit.trace(call, tuple(_clone(tensors)), check_trace=False)
            traced(*_clone(tensors))
        path = self.folder / f"{len(self.cases)}.trace.pt"
        torch.jit.save(traced, str(path))
        return path, tensors

    def _add(self, name, archive, inputs):
        path = self.folder / f"{len(self.cases)}.in.pt"
        torch.save(tuple(_to_cpu(inputs)), path)
        torch.load(path, weights_only=True)
        skip = ("values",) if self.op.name in UNINITIALIZED else ()
        if self.device != "cpu":
            # The call moves its arguments and its result: what it shares and writes stays on the device.
            skip += ("strides", "aliasing", "arguments")
        self.cases.append(Case(name, self.op.name, str(archive), str(path), skip=skip))


class _CallWriter:
    """Writes a call of an operator as TorchScript. Tensors, and lists of them, become parameters; the rest literals."""

    def __init__(self):
        self.formals, self.inputs = [], []

    def source(self, op, form, arguments, keywords):
        actuals = [self._actual(argument) for argument in arguments]
        named = [f"{key}={self._actual(value)}" for key, value in keywords.items()]
        name = op.name + ("_" if form == "inplace" else "")
        if form in ("method", "inplace") or _is_method_only(op):
            call = self._method(name, actuals, named, arguments)
        else:
            call = f"torch.{op.name}({', '.join(actuals + named)})"
        return f"def call({', '.join(self.formals)}):\n    return {call}\n"

    def _method(self, name, actuals, named, arguments):
        if name == "__getitem__":
            return f"{actuals[0]}[{self._index(arguments[1])}]"
        return f"{actuals[0]}.{name}({', '.join(actuals[1:] + named)})"

    def _index(self, index):
        parts = index if isinstance(index, tuple) else (index,)
        return ", ".join(self._index_part(part) for part in parts)

    def _index_part(self, part):
        if part is Ellipsis:
            return "..."
        if isinstance(part, slice):
            return ":".join("" if x is None else self._actual(x) for x in (part.start, part.stop, part.step))
        return self._actual(part)

    def _actual(self, value):
        if isinstance(value, torch.Tensor):
            return self._parameter(value, "Tensor")
        if isinstance(value, (list, tuple)):
            if value and all(isinstance(element, torch.Tensor) for element in value):
                return self._parameter(list(value), "List[Tensor]")
            elements = [self._actual(element) for element in value]
            if isinstance(value, tuple) and not isinstance(value, torch.Size):
                return f"({', '.join(elements)}{',' if len(elements) == 1 else ''})"
            return f"[{', '.join(elements)}]"
        if value is None or isinstance(value, (bool, int, str)):
            return repr(value)
        if isinstance(value, float):
            return repr(value) if value - value == 0 else f"float('{value}')"
        if isinstance(value, complex):
            return f"complex({value.real!r}, {value.imag!r})"
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return str(value)
        if isinstance(value, torch.device):
            return f"torch.device('{value}')"
        raise TypeError(f"no literal for {value!r}")

    def _parameter(self, value, type_name):
        name = f"i{len(self.formals)}"
        self.formals.append(f"{name}: {type_name}")
        self.inputs.append(value)
        return name


def _is_method_only(op):
    target = torch
    for part in op.name.split("."):
        target = getattr(target, part, None)
    return target is None and hasattr(torch.Tensor, op.name)


def _spread(count, limit):
    if count <= limit:
        return list(range(count))
    return sorted({round(i * (count - 1) / (limit - 1)) for i in range(limit)})


def _lift(value, tensors):
    """`value` with a _Place for each tensor, which goes to `tensors`."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return _Place(len(tensors) - 1)
    if type(value) in (list, tuple):
        return type(value)(_lift(element, tensors) for element in value)
    if isinstance(value, dict):
        return {key: _lift(element, tensors) for key, element in value.items()}
    return value


def _lower(shape, values):
    if isinstance(shape, _Place):
        return values[shape.index]
    if type(shape) in (list, tuple):
        return type(shape)(_lower(element, values) for element in shape)
    if isinstance(shape, dict):
        return {key: _lower(element, values) for key, element in shape.items()}
    return shape


class _Place:
    def __init__(self, index):
        self.index = index


def _clone(value):
    return copy.deepcopy(value)


def _to_cpu(value):
    tensors = []
    shape = _lift(value, tensors)
    return _lower(shape, [tensor.detach().cpu() for tensor in tensors])


def _line(error):
    return f"{type(error).__name__}: {str(error).strip()}"[:300]

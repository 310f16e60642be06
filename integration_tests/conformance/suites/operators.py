"""Every operator of torch's own operator database, scripted where a script can say the call, else traced.

Samples: of float32 all, of the other dtypes one. Forms: the function for every sample; method, in-place, out= and out= with
results that must be resized for FORM_LIMIT samples of an operator."""

import hashlib
import random
import warnings

import numpy
import torch

from integration_tests.conformance import making
from integration_tests.conformance.case import Case

NAME = "operators"
TITLE = "Operators: torch's operator database (op_db), each sample as an archive"
ITEMS = "operators"

FORM_LIMIT = 5
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64)
# What their memory holds is nobody's business.
UNINITIALIZED = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_",
}  # fmt: skip


def cases(folder, quick, device="cpu"):
    items = [{"name": name_of(op), "device": device, "quick": quick} for op in database()]
    yield from making.made("integration_tests.conformance.suites.operators:make", items, folder / (device + "-quick" * quick))


def name_of(op):
    return f"{op.name} ({op.variant_test_name})" if op.variant_test_name else op.name


_OPS = []


def database():
    if not _OPS:
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db  # takes seconds

        _OPS.extend(op_db)
    return _OPS


def named(name):
    return next(op for op in database() if name_of(op) == name)


def make(item):
    """The archives and inputs of one operator."""
    op = named(item["name"])
    maker = _Maker(op, item)
    for dtype in DTYPES if item["device"] == "cpu" and not item["quick"] else DTYPES[:1]:
        if dtype in op.supported_dtypes(item["device"]):
            maker.make_dtype(dtype)
    return {"cases": [case.to_json() for case in maker.cases], "unmade": maker.unmade}


class _Maker:
    def __init__(self, op, item):
        self.op = op
        self.device, self.quick = item["device"], item["quick"]
        self.name = item["name"]
        self.folder = making.folder_of(item)
        self.cases, self.unmade = [], []

    def make_dtype(self, dtype):
        samples = self._samples(dtype)
        chance = random.Random(f"{self.name} {dtype}")
        if dtype != torch.float32 or self.quick:
            # The first that can be made, in an order that is not always the simplest one first.
            order = chance.sample(range(len(samples)), len(samples))
            for index in order[:8]:
                if self._make(samples[index], dtype, index, "function"):
                    break
            return
        for index in range(len(samples)):
            self._make(samples[index], dtype, index, "function")
        few = making.spread(len(samples), FORM_LIMIT)
        for form, exists in [
            ("method", self.op.method_variant), ("inplace", self.op.inplace_variant), ("out", self.op.supports_out),
            ("resized", self.op.supports_out),
        ]:  # fmt: skip
            if exists:
                for index in few:
                    self._make(samples[index], dtype, index, form)

    def _samples(self, dtype):
        torch.manual_seed(0)
        numpy.random.seed(0)
        try:
            return list(self.op.sample_inputs(self.device, dtype, requires_grad=False))
        except Exception as error:
            self.unmade.append(f"{dtype}: its samples: {making.line(error)}")
            return []

    def _make(self, sample, dtype, index, form):
        """Whether there is a case now."""
        if form == "inplace" and sample.broadcasts_input:
            return False
        name = f"{self.name}/{str(dtype).removeprefix('torch.')}/{index}/{form}"
        arguments = [sample.input, *sample.args]
        keywords = dict(sample.kwargs)
        try:
            if form in ("out", "resized"):
                keywords["out"] = self._out(form, arguments, keywords)
        except Exception as error:
            self.unmade.append(f"{name}: {making.line(error)}")
            return False
        problems = []
        for how, build in (("script", self._script), ("trace", self._trace)):
            try:
                archive, inputs = build(form, arguments, keywords)
                self._add(f"{name}.{how}", archive, inputs)
                return True
            except Exception as error:
                problems.append(f"{how}: {making.line(error)}")
        self.unmade.append(f"{name}: {'; '.join(problems)}")
        return False

    def _out(self, form, arguments, keywords):
        results = self.op.op(*making.copied(arguments), **making.copied(keywords))
        several = isinstance(results, tuple)
        blank = [torch.zeros_like(result) for result in (results if several else [results])]
        if form == "resized":
            blank = [result.new_empty(0) for result in blank]
        return tuple(blank) if several else blank[0]

    def _script(self, form, arguments, keywords):
        writer = CallWriter()
        source = writer.source(self.op, form, arguments, keywords)
        path = self.folder / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.pt"
        function = torch.jit.CompilationUnit(source).call
        with torch.no_grad():
            function(*making.copied(writer.inputs))
        if not path.exists():
            torch.jit.save(function, str(path))
        return path, writer.inputs

    def _trace(self, form, arguments, keywords):
        function = {"function": self.op.op, "out": self.op.op, "resized": self.op.op, "method": self.op.method_variant,
                    "inplace": self.op.inplace_variant}[form]  # fmt: skip
        traced, tensors = making.trace(function, arguments, keywords)
        path = self.folder / f"{len(self.cases)}.trace.pt"
        torch.jit.save(traced, str(path))
        return path, tensors

    def _add(self, name, archive, inputs):
        path = self.folder / f"{len(self.cases)}.in.pt"
        making.save_inputs(inputs, path)
        skip = ("values",) if self.op.name in UNINITIALIZED else ()
        self.cases.append(Case(name, self.op.name, str(archive), str(path), skip=skip))


class CallWriter:
    """Writes a call of an operator as TorchScript. Tensors, and lists of them, become parameters; the rest literals."""

    def __init__(self):
        self.formals, self.inputs = [], []

    def source(self, op, form, arguments, keywords):
        actuals = [self._actual(argument) for argument in arguments]
        named = [f"{key}={self._actual(value)}" for key, value in _by_schema(op, keywords).items()]
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


def _by_schema(op, keywords):
    """`keywords` with each of several results under the name that TorchScript has for it."""
    if not isinstance(keywords.get("out"), tuple):
        return keywords
    results = keywords["out"]
    for schema in torch._C._jit_get_schemas_for_operator("aten::" + op.name.replace(".", "_")):
        outs = [argument.name for argument in schema.arguments if argument.is_out]
        if len(outs) == len(results):
            rest = {key: value for key, value in keywords.items() if key != "out"}
            return rest | dict(zip(outs, results))
    return keywords


def _is_method_only(op):
    target = torch
    for part in op.name.split("."):
        target = getattr(target, part, None)
    return target is None and hasattr(torch.Tensor, op.name)

"""Archives of every age and kind, each with what becomes of it: torch.jit.load's own answer, an answer that is known where
torch has none, or a refusal that says why."""

import io
import zipfile
from dataclasses import dataclass

import torch

from integration_tests.archive_maker import Call, Name, Object, Raw, Storage, Tagged, Tensor, archive, module, pickled, program

X = torch.tensor([5, -5, 7])
F = torch.tensor([1.5, -2.0, 4.0])


class Same:
    """torch.jit.load reads it too and gives the same answer."""


@dataclass
class Answer:
    """What torch reads otherwise, or not at all."""

    value: object


@dataclass
class Refused:
    """An error with these words in it."""

    words: tuple


@dataclass
class Raised:
    """The call, not the load, fails with these words."""

    words: tuple


@dataclass
class Case:
    says: str
    archive: bytes
    inputs: tuple = (F,)
    verdict: object = Same


def refused(*words):
    return Refused(words)


def layout():
    ones = {"attributes": {"w": "Tensor"}, "values": {"w": torch.tensor([1.0, 2.0, 3.0])}}
    records = program("return torch.add(self.w, x)", **ones)
    scripted = _saved(torch.jit.script(_Linear()))
    yield Case("what torch.jit.save writes is read", scripted, (torch.ones(2, 3),))
    yield Case("a zip file without alignment or zip64 records is read", archive(records))
    yield Case("deflated records are inflated, weights too", archive(records, compression=zipfile.ZIP_DEFLATED))
    yield Case("the top folder may have any name", archive(records, top="some model-3"))
    yield Case("a version without a newline is a version", archive(records | {"version": "3"}))
    old, new = program("return torch.div(x, 2)", version=3), program("return torch.div(x, 2)", version=4)
    yield Case("a version in .data/ goes before one beside it", archive(new | {"version": "3\n", ".data/version": "4\n"}), (X,))
    yield Case("and the other way round", archive(old | {"version": "4\n", ".data/version": "3\n"}), (X,))
    for version in range(1, 11):
        yield Case(f"archives of version {version} are read", archive(records | {"version": f"{version}\n"}))
    for version in ("0", "11", "-1", "", "three", "3.5", "99999999999999999999"):
        yield Case(f"version '{version}' is refused", archive(records | {"version": version}), verdict=refused("version", "1 to 10"))
    yield Case("an archive without a version is refused", archive(records | {"version": None}), verdict=refused("no version"))
    yield Case("byteorder little is the usual", archive(records | {"byteorder": "little"}))
    swapped = records | {"byteorder": "big", "data/0": bytes(torch.tensor([1.0, 2.0, 3.0]).view(torch.uint8).view(3, 4).flip(1).flatten())}
    yield Case("the storages of a big-endian archive are swapped", archive(swapped), verdict=Answer(F + torch.tensor([1.0, 2.0, 3.0])))
    yield Case("another byteorder is refused", archive(records | {"byteorder": "middle"}), verdict=refused("byteorder", "middle"))
    extras = {"extra/producer_info.json": "{}", ".data/serialization_id": "0" * 40, "bytecode.pkl": "x", "mobile_debug_handles.pkl": "x"}
    yield Case("records for others are left alone", archive(records | extras))
    yield Case("an archive needs data.pkl", archive(records | {"data.pkl": None}), verdict=refused("data.pkl"))
    yield Case("an archive needs constants.pkl", archive(records | {"constants.pkl": None}), verdict=refused("without code"))
    yield Case("an archive needs the code of its class", archive(records | {"code/__torch__.py": None}), verdict=refused("__torch__.M"))
    yield Case("damaged debug records only lose the original lines", archive(records | {"code/__torch__.py.debug_pkl": "rubbish"}))
    yield Case("constants that are no tuple are refused", archive(records | {"constants.pkl": pickled([1])[0]}), verdict=refused("tuple"))
    yield Case("data.pkl must hold a module", archive(records | {"data.pkl": pickled({"a": 1})[0]}), verdict=refused("data.pkl", "module"))


def other_formats():
    linear = _Linear()
    yield Case("torch.save's zip of weights is named", _bytes(torch.save, linear.state_dict()), verdict=refused("torch.save"))
    legacy = io.BytesIO()
    torch.save(linear.state_dict(), legacy, _use_new_zipfile_serialization=False)
    yield Case("torch.save's pickle of before 1.6 is named", legacy.getvalue(), verdict=refused("torch.save", "1.6"))
    yield Case("the preview format is named", b"PYTORCH1" + bytes(100), verdict=refused("PYTORCH1"))
    yield Case("a flatbuffer is named", b"\x14\0\0\0PTMF" + bytes(100), verdict=refused("flatbuffer"))
    records = program("return x")
    yield Case("the format of torch 1.1 is named", archive(records | {"model.json": "{}"}), verdict=refused("1.1"))
    package = io.BytesIO()
    with torch.package.PackageExporter(package) as exporter:
        exporter.save_text("main", "text", "hello")
    yield Case("a package of torch.package is named", package.getvalue(), verdict=refused("torch.package"))
    exported = io.BytesIO()
    torch.export.save(torch.export.export(linear, (torch.ones(2, 3),)), exported)
    yield Case("an exported program is named", exported.getvalue(), verdict=refused("exported program"))
    mobile = torch.jit.script(linear)._save_to_buffer_for_lite_interpreter()
    convolution = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval()
    onednn = _saved(torch.jit.optimize_for_inference(torch.jit.trace(convolution, torch.ones(1, 3, 8, 8))))
    yield Case("code with constants of oneDNN is refused by name", onednn, verdict=refused("mkldnn"))
    yield Case("an archive for the lite interpreter has all that is needed", mobile, (torch.ones(2, 3),))
    yield Case("a safetensors file is named", (50).to_bytes(8, "little") + b"{" + bytes(100), verdict=refused("safetensors"))


class _Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.weight = torch.nn.Parameter(torch.randn(2, 3))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


def _bytes(save, value):
    buffer = io.BytesIO()
    save(value, buffer)
    return buffer.getvalue()


def _saved(scripted):
    return _bytes(torch.jit.save, scripted)


# Versions and upgraders. Each program at a version before the change and at the one after it.
_UPGRADED = {
    "div.Tensor": ("return torch.div(x, y)", 3),
    "div.Scalar": ("return torch.div(x, 2)", 3),
    "div.Scalar of a float": ("return torch.div(x, 2.5)", 3),
    "div.out": ("return torch.div(x, y, out=torch.zeros_like(x, dtype=OUT))", 3),
    "div.Tensor_mode": ('return torch.div(x, y, rounding_mode="trunc")', 3),
    "div.Tensor_mode without rounding": ("return torch.div(x, y, rounding_mode=None)", 3),
    "div.Scalar_mode": ('return torch.div(x, 2, rounding_mode="floor")', 3),
    "div.Scalar_mode without rounding": ("return torch.div(x, 2, rounding_mode=None)", 3),
    "div.out_mode": ('return torch.div(x, y, rounding_mode="floor", out=torch.zeros_like(x, dtype=OUT))', 3),
    "div.out_mode without rounding": ("return torch.div(x, y, rounding_mode=None, out=torch.zeros_like(x, dtype=OUT))", 3),
    "div_.Tensor": ("return torch.div_(torch.clone(x), y)", 3),
    "div_.Scalar": ("return torch.div_(torch.clone(x), 2)", 3),
    "div_.Tensor_mode": ('return torch.div_(torch.clone(x), y, rounding_mode="trunc")', 3),
    "div_.Scalar_mode": ('return torch.div_(torch.clone(x), 2, rounding_mode="floor")', 3),
    "div_ without rounding": ("return torch.div_(torch.clone(x), 2, rounding_mode=None)", 3),
    "full of an int": ("return torch.full([2], 3)", 4),
    "full of a bool": ("return torch.full([2], True)", 4),
    "full of a float": ("return torch.full([2], 3.5)", 4),
    "full with a dtype": ("return torch.full([2], 3, dtype=4)", 4),
    "full.out": ("return torch.full([2], 3, out=torch.zeros([2], dtype=OUT))", 4),
    "full.names": ("return torch.full([2], 3, names=None)", 4),
    "linspace": ("return torch.linspace(0, 1, None)", 7),
    "linspace with steps": ("return torch.linspace(0, 1, 5)", 7),
    "linspace without steps": ("return torch.linspace(0, 1)", 7),
    "linspace.out": ("return torch.linspace(0, 1, None, out=torch.zeros([100]))", 7),
    "logspace": ("return torch.logspace(0, 1, None)", 8),
    "logspace with steps and base": ("return torch.logspace(0, 1, 5, 2.)", 8),
    "logspace without steps": ("return torch.logspace(0, 1)", 8),
    "logspace.out": ("return torch.logspace(0, 1, None, out=torch.zeros([100]))", 8),
    "gelu": ("return torch.gelu(torch.to(x, 6))", 9),
    "gelu.out": ("return torch.gelu(torch.to(x, 6), out=torch.zeros_like(x, dtype=6))", 9),
}  # fmt: skip


def upgraders():
    """19 entries of torch._C._get_upgraders_entry_map, at the versions they are for and after."""
    inputs = [(X, torch.tensor([2, 2, -2])), (F, torch.tensor([2.0, 2.0, -2.0])), (X, torch.tensor([2.0, 2.0, -2.0]))]
    for name, (body, last) in _UPGRADED.items():
        if "OUT" in body:
            bodies = {f"{name} into {kind}": body.replace("OUT", number) for kind, number in (("ints", "4"), ("floats", "6"))}
        else:
            bodies = {name: body}
        for title, text in bodies.items():
            for version in (1, last, last + 1, 10):
                for number, arguments in enumerate(inputs if "div" in name else inputs[:1]):
                    made = module(text, parameters="x: Tensor, y: Tensor", version=version)
                    yield Case(f"{title} at version {version}, arguments {number}", made, arguments)
    nested = program(
        "return __torch__.half(x)",
        before="def half(x: Tensor) -> Tensor:\n  return torch.div(x, 2)\n",
        version=3,
    )
    yield Case("an old operator in a free function is not upgraded", archive(nested), (X,))
    closure = "def __forked_function0():\n  _0 = torch.div(x, 2)\n  return _0\nf = fork(__forked_function0)\nreturn ops.aten.wait(f)"
    yield Case("nor one in a closure", module(closure), (X,))
    hook = "def post(self: __torch__.M,\n    inputs: Tuple[Tensor],\n    output: Tensor) -> Tensor:\n  return torch.div(output, 2)\n"
    hooked = program("return x", methods=hook)
    hooked["code/__torch__.py"] = hooked["code/__torch__.py"].replace("[]\n", '[]\n  __forward_hooks__ = ["post"]\n', 1)
    yield Case("nor one in a hook", archive(hooked), (X,))
    yield Case("but one in a branch of a method is", module("if True:\n  y = torch.div(x, 2)\nelse:\n  y = x\nreturn y"), (X,))


def pickles():
    def tensor(value, **options):
        return module("return self.w", attributes={"w": "Tensor"}, values={"w": value}, **options)

    storage = Storage("0", "FloatStorage", 6)
    data = {"data/0": bytes(torch.arange(6.0).untyped_storage())}

    def made(*arguments, records=data, **options):
        return tensor(Tensor(*arguments), records=records, **options)

    yield Case("a transposed tensor keeps its strides", made(storage, 0, (3, 2), (1, 3)))
    yield Case("an expanded tensor may have strides of zero", made(storage, 2, (4, 2), (0, 1)))
    yield Case("a tensor of no dimensions", made(storage, 5, (), ()))
    yield Case("an empty tensor", made(Storage("0", "FloatStorage", 0), 0, (0, 3), (3, 1)))
    yield Case("an empty storage needs no record", made(Storage("9", "FloatStorage", 0), 0, (0,), (1,), records={}))
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64,
                  torch.bool, torch.complex64, torch.complex128):  # fmt: skip
        yield Case(f"a tensor of {dtype}", tensor(torch.tensor([0, 1, 1]).to(dtype)))
    for name in ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"):
        yield Case(f"a tensor of {name} that torch saved", _saved(torch.jit.script(_Buffer(getattr(torch, name)))))
    yield Case("a conjugate is a conjugate", tensor(torch.tensor([1 + 2j, 3 - 1j]).conj()))
    yield Case("a negative view is negative", tensor(torch.tensor([1 + 2j, 3 - 1j]).conj().imag))
    parameter = Call(Name("torch._utils", "_rebuild_parameter"), (torch.arange(3.0), True, Call(Name("collections", "OrderedDict"), ())))
    yield Case("a parameter that Python wrote", tensor(parameter), verdict=Same)
    coo = torch.sparse_coo_tensor(torch.tensor([[0, 2], [1, 0]]), torch.tensor([3.0, 4.0]), (3, 3)).coalesce()
    yield Case("a sparse COO tensor", tensor(_sparse(1, coo.shape, coo.indices(), coo.values())))
    csr = coo.to_dense().to_sparse_csr()
    parts = (csr.crow_indices(), csr.col_indices(), csr.values())
    yield Case("a sparse CSR tensor", tensor(_sparse(2, csr.shape, *parts)))
    for number, layout_name in ((4, "SparseCsc"), (5, "SparseBsr"), (6, "SparseBsc")):
        yield Case(f"a {layout_name} tensor is refused by name", tensor(_sparse(number, csr.shape, *parts)), verdict=refused(layout_name))

    past = refused("reaches past its storage")
    yield Case("a tensor past the end of its storage is refused", made(storage, 0, (7,), (1,)), verdict=past)
    yield Case("an offset past the end is refused", made(storage, 6, (1,), (1,)), verdict=past)
    yield Case("strides past the end are refused", made(storage, 0, (2, 2), (5, 1)), verdict=past)
    yield Case("a negative offset is refused", made(storage, -1, (1,), (1,)), verdict=refused("begins before"))
    yield Case("a negative size is refused", made(storage, 0, (-2,), (1,)), verdict=refused("negative size"))
    yield Case("sizes beyond counting are refused", made(storage, 0, (2**62, 8), (1, 1)), verdict=refused("too many elements"))
    yield Case("sizes without strides are refused", made(storage, 0, (2, 3), (1,)), verdict=refused("number of strides"))
    yield Case("a record shorter than its storage is refused", made(Storage("0", "FloatStorage", 8), 0, (6,), (1,)), verdict=refused("24 bytes", "32"))
    yield Case("a storage without a record is refused", made(Storage("7", "FloatStorage", 6), 0, (6,), (1,)), verdict=refused("data/7"))
    yield Case("a storage of an unknown type is refused", made(Storage("0", "TripleStorage", 6), 0, (6,), (1,)), verdict=refused("TripleStorage"))

    for says, opcodes, words in (
        ("an unknown opcode", b"\xff", ("opcode",)),
        ("a reference to nothing", b"j\x09\0\0\0", ("memo",)),
        ("a call of os.system", b"cos\nsystem\nX\x02\0\0\0ls\x85R", ("os.system",)),
        ("a tensor by its number", b"ctorch.jit._pickle\nbuild_tensor_from_id\nK\x00\x85R", ("build_tensor_from_id",)),
        ("an rref", b"ctorch.distributed.rpc\nrref\n)R", ("rref",)),
        ("a stack that runs empty", b"R", ("",)),
    ):
        values = {"attributes": {"v": "int"}, "values": {"v": Raw(opcodes)}}
        yield Case(f"{says} is refused", module("return x", **values), verdict=refused(*words))
    shared = Object("__torch__.Part", {"n": 3})
    both = program(
        "self.a.n = torch.add(self.a.n, 1)\nreturn torch.add(x, self.b.n)",
        attributes={"a": "__torch__.Part", "b": "__torch__.Part"},
        values={"a": shared, "b": shared},
        before="class Part(Module):\n  n : int\n",
    )
    yield Case("one object under two names is one object", archive(both))
    tied = torch.arange(3.0)
    twice = program("_0 = torch.add_(self.a, 1)\nreturn self.b", attributes={"a": "Tensor", "b": "Tensor"}, values={"a": tied, "b": tied[1:]})
    yield Case("two views of one storage stay so", archive(twice))
    lists = {"attributes": {"v": "List[int]"}, "values": {"v": Call(Name("torch.jit._pickle", "build_intlist"), ([1, 2],))}}
    yield Case("a list of ints of the pickle's own kind", module("return torch.add(x, self.v[1])", **lists))
    lists["values"] = {"v": Call(Name("__main__", "IntList"), ([1, 2],))}
    yield Case("the same as torch 1.0 named it", module("return torch.add(x, self.v[1])", **lists), verdict=Answer(F + 2))
    numbers = torch.arange(2.0)
    by_id = {"attributes": {"v": "List[Tensor]"}, "values": {"v": Call(Name("torch.jit._pickle", "build_tensorlist"), ([numbers, numbers],))}}
    yield Case("a list of tensors of the pickle's own kind", module("return self.v", returns="List[Tensor]", **by_id))
    yield Case("a device", module("return torch.to(x, self.d)", attributes={"d": "Device"}, values={"d": Call(Name("torch", "device"), ("cpu",))}))
    yield Case("a complex number", module("return torch.mul(x, self.c)", attributes={"c": "complex"}, values={"c": 2 + 1j}))
    yield Case("numbers of every length", module("return [self.a, self.b, self.c]", returns="List[int]",
               attributes={"a": "int", "b": "int", "c": "int"}, values={"a": 70000, "b": -3, "c": -(2**60)}))  # fmt: skip
    untagged = {"attributes": {"v": "List[Optional[int]]", "d": "Dict[str, List[float]]", "t": "Tuple[List[int], Dict[int, str]]"},
                "values": {"v": [1, None], "d": {"a": [0.5]}, "t": ([7], {1: "one"})}}  # fmt: skip
    body = 'd, = self.d["a"]\nn = torch.add(torch.len(self.v), (self.t)[0][0])\nreturn torch.add(torch.mul(x, d), n)'
    for version in (1, 2):
        yield Case(f"containers of version {version} get their types from the attributes", module(body, version=version, **untagged))
    yield Case("a list of the wrong elements is refused", module("return x", attributes={"v": "List[int]"}, values={"v": ["a"]}), verdict=refused("'v'", "int"))
    yield Case("an attribute of the wrong type is refused", module("return x", attributes={"v": "int"}, values={"v": "three"}), verdict=refused("'v'", "int"))
    yield Case("a missing attribute is refused", module("return x", attributes={"v": "int"}), verdict=refused("no attribute 'v'"))


class _Buffer(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.register_buffer("w", torch.tensor([1.0, 2.0, 8.0]).to(dtype))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w.to(torch.float32) + x


def _sparse(layout_number, sizes, *parts):
    ordered = Call(Name("collections", "OrderedDict"), ())
    return Call(Name("torch._utils", "_rebuild_sparse_tensor"), (layout_number, tuple(sizes), False, *parts, ordered))


_OLD_LINEAR = """
class LinearPackedParams(Module):
  __parameters__ = []
  dtype : int
  _packed_params : Tensor
  def __getstate__(self: NAME) -> Tuple[Tensor, Optional[Tensor], bool, int]:
    w, b, = ops.quantized.linear_unpack(self._packed_params)
    return (w, b, False, self.dtype)
  def __setstate__(self: NAME,
    state: Tuple[Tensor, Optional[Tensor], bool, int]) -> NoneType:
    w, b, training, dtype, = state
    self.dtype = dtype
    self._packed_params = ops.quantized.linear_prepack(w, b)
    return None
"""
_OLD_CONV = """
class Conv2d(Module):
  __parameters__ = []
  _packed_params : Tensor
  def __getstate__(self: NAME) -> Tuple[Tensor, Optional[Tensor]]:
    w, b, = ops.quantized.conv2d_unpack(self._packed_params)
    return (w, b)
  def __setstate__(self: NAME,
    state: Tuple[Tensor, Optional[Tensor]]) -> NoneType:
    w, b, = state
    self._packed_params = ops.quantized.conv2d_prepack(w, b, [1, 1], [0, 0], [1, 1], 1)
    return None
"""


def quantized():
    """Packed weights: as C++ classes, and as before they were any."""
    torch.manual_seed(3)
    weight = Call(Name("torch._utils", "_rebuild_qtensor"), _quantized_weight((2, 3)))
    for folder in ("nn.quantized.modules.linear", "ao.nn.quantized.modules.linear.___torch_mangle_4"):
        name = f"__torch__.torch.{folder}.LinearPackedParams"
        body = ("q = torch.quantize_per_tensor(x, 0.1, 0, 13)\n"
                "return torch.dequantize(ops.quantized.linear(q, self.p._packed_params, 0.2, 3))")  # fmt: skip
        records = program(body, attributes={"p": name}, values={"p": Object(name, (weight, torch.ones(2), False, 12))})
        records["data/weight"] = bytes(range(6))
        records["code/" + name.rsplit(".", 1)[0].replace(".", "/") + ".py"] = _OLD_LINEAR.replace("NAME", name)
        yield Case(f"packed weights that were a Tensor, in {folder}", archive(records), (torch.rand(4, 3),))
    name = "__torch__.torch.nn.quantized.modules.conv.Conv2d"
    weight = Call(Name("torch._utils", "_rebuild_qtensor"), _quantized_weight((1, 2, 2, 2)))
    calls = {
        "of eight arguments": "ops.quantized.conv2d(q, self.p._packed_params, [1, 1], [0, 0], [1, 1], 1, 0.2, 3)",
        "with relu": "ops.quantized.conv2d_relu(q, self.p._packed_params, [1, 1], [0, 0], [1, 1], 1, 0.2, 3)",
        "of four arguments": "ops.quantized.conv2d(q, self.p._packed_params, 0.2, 3)",
    }
    for says, call in calls.items():
        body = f"q = torch.quantize_per_tensor(x, 0.1, 0, 13)\nreturn torch.dequantize({call})"
        records = program(body, attributes={"p": name}, values={"p": Object(name, (weight, None))})
        records |= {"data/weight": bytes(range(8)), "code/__torch__/torch/nn/quantized/modules/conv.py": _OLD_CONV.replace("NAME", name)}
        yield Case(f"an old quantized convolution {says}", archive(records), (torch.rand(1, 2, 4, 4),))
    images = {1: (2, 3, 8), 2: (2, 3, 8, 8), 3: (2, 3, 8, 8, 8)}
    for dimensions, shape in images.items():
        for traced in (False, True):
            example = torch.rand(*shape)
            model = _converted(getattr(torch.nn, f"Conv{dimensions}d")(3, 4, 3, padding=1), example)
            made = torch.jit.trace(model, example) if traced else torch.jit.script(model)
            yield Case(f"a {'traced' if traced else 'scripted'} quantized Conv{dimensions}d", _saved(made), (example,))
    example = torch.rand(5, 3)
    for traced in (False, True):
        kind = "traced" if traced else "scripted"
        model = _converted(torch.nn.Linear(3, 4), example)
        made = torch.jit.trace(model, example) if traced else torch.jit.script(model)
        yield Case(f"a {kind} quantized Linear", _saved(made), (example,))
        dynamic = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(3, 4)), {torch.nn.Linear})
        made = torch.jit.trace(dynamic, example) if traced else torch.jit.script(dynamic)
        yield Case(f"a {kind} dynamically quantized Linear", _saved(made), (example,))
        frozen = torch.jit.freeze(made.eval()) if traced else torch.jit.freeze(torch.jit.script(dynamic.eval()))
        yield Case(f"a {kind} dynamically quantized Linear, frozen", _saved(frozen), (example,))
    embedding = torch.ao.nn.quantized.Embedding(10, 4)
    yield Case("a quantized Embedding", _saved(torch.jit.script(embedding)), (torch.tensor([1, 3, 9]),))
    bag = torch.ao.nn.quantized.EmbeddingBag(10, 4, include_last_offset=True)
    yield Case("a quantized EmbeddingBag", _saved(torch.jit.script(bag)), (torch.tensor([1, 3, 9]), torch.tensor([0, 2, 3])))
    lstm = torch.ao.quantization.quantize_dynamic(_Recurrent(), {torch.nn.LSTM})
    yield Case("a dynamically quantized LSTM", _saved(torch.jit.script(lstm)), (torch.rand(6, 2, 3),))


class _Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lstm(x)[0]


def _quantized_weight(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    ordered = Call(Name("collections", "OrderedDict"), ())
    storage = Storage("weight", "QInt8Storage", step)
    return (storage, 0, shape, tuple(strides), (Name("torch", "per_tensor_affine"), 0.5, 0), False, ordered)


def _converted(layer, example):
    quantization = torch.ao.quantization
    model = torch.nn.Sequential(quantization.QuantStub(), layer, quantization.DeQuantStub()).eval()
    model.qconfig = quantization.get_default_qconfig("fbgemm")
    prepared = quantization.prepare(model)
    prepared(example)
    return quantization.convert(prepared)


def code():
    yield Case("op_version_set and imports at a file's head are ignored",
               module("return torch.add(x, 1)", before="op_version_set = 1\nimport __torch__.foo\nimport __torch__.foo.bar\n"))  # fmt: skip
    yield Case("attributes that are no identifiers", _annotated())
    enum = "class C(Enum):\n  RED = 1\n  BLUE = 2\n"
    values = {"attributes": {"c": "__torch__.C"}, "values": {"c": Call(Name("__torch__", "C"), (2,))}}
    yield Case("an enum of ints", module("return torch.add(x, (self.c).value)", before=enum, **values))
    values["values"] = {"c": Call(Name("__torch__", "C"), (3,))}
    yield Case("an enum without that member is refused", module("return x", before=enum, **values), verdict=refused("__torch__.C", "no member"))
    strings = 'class C(Enum):\n  RED = "r"\n  BLUE = "b"\n'
    values = {"attributes": {"c": "__torch__.C"}, "values": {"c": Call(Name("__torch__", "C"), ("b",))}}
    yield Case("an enum of strings", module("return torch.add(x, torch.len((self.c).name))", before=strings, **values))
    floats = "class C(Enum):\n  RED = 1.5\n  BLUE = -0.5\n"
    yield Case("an enum of floats", module("return torch.add(x, (__torch__.C.BLUE).value)", before=floats))
    yield Case("enums compare by member", module("return torch.eq(__torch__.C.BLUE, __torch__.C.BLUE)", returns="bool", before=floats))
    named = "class NT(NamedTuple):\n  a : Tensor\n  n : int\n"
    yield Case("a named tuple", module("t = __torch__.NT(x, 4)\nreturn torch.add(t.a, t.n)", before=named))
    interface = "class I(ModuleInterface):\n  def run(self, x: Tensor) -> Tensor:\n    pass\n"
    part = "class Part(Module):\n  k : int\n  def run(self: __torch__.Part,\n    x: Tensor) -> Tensor:\n    return torch.mul(x, self.k)\n"
    values = {"attributes": {"p": "__torch__.Part"}, "values": {"p": Object("__torch__.Part", {"k": 3})}}
    yield Case("a module behind an interface", module("p : __torch__.I = self.p\nreturn (p).run(x, )", before=interface + part, **values))
    mangled = program("return (self.p).run(x, )", attributes={"p": "__torch__.___torch_mangle_7.Part"},
                      values={"p": Object("__torch__.___torch_mangle_7.Part", {"k": 5})})  # fmt: skip
    mangled["code/__torch__/___torch_mangle_7.py"] = part.replace("__torch__.Part", "__torch__.___torch_mangle_7.Part")
    yield Case("a mangled class lives in a file of that name", archive(mangled))
    final = "class Part(Module):\n  k : Final[int] = 3\n  ks : Final[Tuple[int, float]] = (1, -2.5)\n  inf : Final[float] = inf\n"
    values = {"attributes": {"p": "__torch__.Part"}, "values": {"p": Object("__torch__.Part", {})}}
    yield Case("constants of a class, which torch prints in place", module("return torch.add(torch.mul(x, self.p.k), (self.p.ks)[1])", before=final, **values), verdict=Answer(F * 3 - 2.5))
    defaults = "def f(x: Tensor, n: int=-3, e: float=1.0000000000000001e-05, s: str=\"a\\n\", l: List[int]=[1, 1], t: Optional[Tensor]=None) -> Tensor:\n  return torch.add(torch.mul(x, n), e)\n"
    yield Case("defaults of parameters", module("return __torch__.f(x, )", before=defaults))
    yield Case("constants by number", module("return torch.add(CONSTANTS.c0, CONSTANTS.c1)", constants=(torch.arange(3.0), 2)))
    yield Case("a constant that is not there is refused", module("return CONSTANTS.c3", constants=(1,)), verdict=refused("c3"))
    yield Case("text beyond ASCII is a constant", module('return torch.add(x, torch.len(CONSTANTS.c0))', constants=("é",)))

    yield Case("_assert_int_or_pair of old functionals", module('_0 = torch._assert_int_or_pair([1, 2], "k", "m")\nreturn x'), verdict=Same)
    yield Case("list_with_default of old functionals", module("return torch.list_with_default([1, 2], [3, 4, 5])", returns="List[int]"))
    yield Case("_assert of old functionals", module('_0 = torch._assert(True, "no")\nreturn x'))
    yield Case("a device by keyword", module('return torch.to(x, torch.device(type="cpu"))'))
    yield Case("a device by keywords", module('return torch.to(x, torch.device(type="cpu", index=0))'))
    yield Case("type() of a tensor", module("return torch.type(x, 7)"))
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    for call in ('__interpolate(x, [8, 8], None, "nearest", None)', "__upsample_nearest(x, 8, None)", "__upsample_bilinear(x, [8, 8], None)",
                 '__interpolate(x, None, 2., "bilinear", False)', '__interpolate(x, 8, None, "nearest", None, None)',
                 '__upsample(x, [8, 8], None, "nearest", None)', '__upsample(x, None, 2, "bilinear", True)'):  # fmt: skip
        yield Case(f"the operator torch.{call}", module(f"return torch.{call}"), (image,))
    hooks = program(
        "return torch.mul(x, 2)",
        methods=(
            "def pre(self: __torch__.M,\n    inputs: Tuple[Tensor]) -> Tuple[Tensor]:\n  return (torch.add((inputs)[0], 1),)\n"
            "def post(self: __torch__.M,\n    inputs: Tuple[Tensor],\n    output: Tensor) -> Tensor:\n  return torch.neg(output)\n"
        ),
    )
    hooks["code/__torch__.py"] = hooks["code/__torch__.py"].replace(
        "  __parameters__ = []\n", '  __parameters__ = []\n  __forward_pre_hooks__ = ["pre", ]\n  __forward_hooks__ = ["post", "post", ]\n'
    )
    yield Case("the module's own hooks, one of them twice", archive(hooks))
    state = program(
        "return torch.add(x, torch.len(self.p.items))",
        attributes={"p": "__torch__.Part"},
        values={"p": Object("__torch__.Part", ([1, 2, 3], {"a": torch.arange(2)}, None))},
        before=(
            "class Part(Module):\n  items : List[int]\n  named : Dict[str, Tensor]\n  maybe : Optional[int]\n"
            "  def __getstate__(self: __torch__.Part) -> Tuple[List[int], Dict[str, Tensor], Optional[int]]:\n"
            "    return (self.items, self.named, self.maybe)\n"
            "  def __setstate__(self: __torch__.Part,\n    state: Tuple[List[int], Dict[str, Tensor], Optional[int]]) -> NoneType:\n"
            "    a, b, c, = state\n    self.items = torch.add(a, [9])\n    self.named = b\n    self.maybe = c\n    return None\n"
        ),
    )
    yield Case("a state of containers goes through __setstate__", archive(state))
    failing = dict(state)
    failing["code/__torch__.py"] = state["code/__torch__.py"].replace("a, b, c, = state", 'ops.prim.RaiseException("no state", "builtins.ValueError")\n    a, b, c, = state')
    yield Case("a __setstate__ that raises says so", archive(failing), verdict=refused("no state"))
    lazy = dict(state)
    lazy["code/__torch__.py"] = state["code/__torch__.py"].replace("    self.items = torch.add(a, [9])\n", "")
    yield Case("a __setstate__ that forgets an attribute is refused", archive(lazy), verdict=refused("items"))


def enumerations():
    """Numbers that mean no dtype, layout or memory format: LibTorch would look behind the end of its tables."""
    calls = {
        "torch.zeros([2], dtype=-1)": "dtype", "torch.to(x, 99)": "dtype", "torch.zeros([2], layout=77)": "layout",
        "torch.sum(x, dtype=1000000)": "dtype", "torch.clone(x, memory_format=9)": "memory", "torch.contiguous(x, memory_format=-7)": "memory",
        "torch.empty_like(x, memory_format=123456)": "memory", "torch.quantize_per_tensor(x, 0.1, 0, 300)": "dtype",
        "torch.tensor([1, 2], dtype=-5)": "dtype", "torch.softmax(x, 0, 4096)": "dtype", "torch.full([2], 1, dtype=-2)": "dtype",
        "torch.to(x, dtype=-9223372036854775808)": "dtype", "torch.arange(3, dtype=200)": "dtype",
    }  # fmt: skip
    for call, word in calls.items():
        yield Case(f"{call} fails when it is called", module(f"return {call}"), verdict=Raised((word,)))
    yield Case("None is no number", module("return torch.sum(x, dtype=None)"))


def _annotated():
    records = program('return torch.add(x, getattr(self, "0"))', values={"0": 3, "a.b": 4})
    records["code/__torch__.py"] = records["code/__torch__.py"].replace(
        "  __parameters__ = []\n", '  __parameters__ = []\n  __annotations__ = []\n  __annotations__["0"] = int\n  __annotations__["a.b"] = int\n'
    )
    return archive(records)


GROUPS = {"layout": layout, "other formats": other_formats, "upgraders": upgraders, "pickles": pickles, "quantized": quantized, "code": code, "enumerations": enumerations}

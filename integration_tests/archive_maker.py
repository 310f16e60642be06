"""TorchScript archives put together by hand: any version, any record, any pickle.

`archive` makes the zip file of records; `pickled` makes a pickle as TorchScript's own writer does, of plain values and of
what this file defines (Object, Call, Name, Tagged, tensors). `module` does both for a class `M` with a method `forward`.
"""

import io
import struct
import textwrap
import zipfile
from dataclasses import dataclass
from typing import Any

import torch

STORAGE = {
    torch.float32: "FloatStorage", torch.float64: "DoubleStorage", torch.float16: "HalfStorage", torch.bfloat16: "BFloat16Storage",
    torch.int8: "CharStorage", torch.uint8: "ByteStorage", torch.int16: "ShortStorage", torch.int32: "IntStorage",
    torch.int64: "LongStorage", torch.bool: "BoolStorage", torch.complex64: "ComplexFloatStorage",
    torch.complex128: "ComplexDoubleStorage", torch.complex32: "ComplexHalfStorage",
}  # fmt: skip


@dataclass
class Name:
    """A global: `Name("torch", "FloatStorage")`."""

    module: str
    name: str


@dataclass
class Call:
    """A global called: REDUCE."""

    function: Name
    arguments: tuple


@dataclass(eq=False)
class Object:
    """An object of an archive's class, with its state: attributes by name, or what __getstate__ gave."""

    type: str  # "__torch__.M"
    state: Any


@dataclass(eq=False)
class Storage:
    """The storage under `key` of `numel` elements, as the pickle claims."""

    key: str
    type: str
    numel: int
    device: str = "cpu"


@dataclass
class Raw:
    """Opcodes as they are."""

    opcodes: bytes


def Tagged(value, annotation):
    return Call(Name("torch.jit._pickle", "restore_type_tag"), (value, annotation))


def Tensor(storage, offset, sizes, strides, requires_grad=False, *more):
    ordered = Call(Name("collections", "OrderedDict"), ())
    arguments = (storage, offset, tuple(sizes), tuple(strides), requires_grad, ordered, *more)
    return Call(Name("torch._utils", "_rebuild_tensor_v2"), arguments)


class _Pickler:
    def __init__(self):
        self.out = io.BytesIO()
        self.memo = {}  # id of an object or storage -> its number
        self.storages = {}  # data pointer -> Storage
        self.records = {}  # key -> bytes
        self.alive = []

    def emit(self, value):
        out = self.out
        if value is None:
            out.write(b"N")
        elif isinstance(value, bool):
            out.write(b"\x88" if value else b"\x89")
        elif isinstance(value, int):
            if 0 <= value < 256:
                out.write(b"K" + bytes([value]))
            elif -(2**31) <= value < 2**31:
                out.write(b"J" + struct.pack("<i", value))
            else:
                out.write(b"\x8a\x08" + struct.pack("<q", value))
        elif isinstance(value, float):
            out.write(b"G" + struct.pack(">d", value))
        elif isinstance(value, complex):
            self.emit(Call(Name("builtins", "complex"), (value.real, value.imag)))
        elif isinstance(value, str):
            data = value.encode()
            out.write(b"X" + struct.pack("<I", len(data)) + data)
        elif isinstance(value, tuple):
            out.write(b"(")
            for element in value:
                self.emit(element)
            out.write(b"t")
        elif isinstance(value, list):
            out.write(b"](")
            for element in value:
                self.emit(element)
            out.write(b"e")
        elif isinstance(value, dict):
            out.write(b"}(")
            for key, element in value.items():
                self.emit(key)
                self.emit(element)
            out.write(b"u")
        elif isinstance(value, torch.Tensor):
            self.emit_tensor(value)
        elif isinstance(value, Name):
            out.write(b"c" + value.module.encode() + b"\n" + value.name.encode() + b"\n")
        elif isinstance(value, Call):
            self.emit(value.function)
            self.emit(value.arguments)
            out.write(b"R")
        elif isinstance(value, Storage):
            if self.recalled(value):
                return
            self.emit(("storage", Name("torch", value.type), value.key, value.device, value.numel))
            out.write(b"Q")
            self.remember(value)
        elif isinstance(value, Object):
            if self.recalled(value):
                return
            self.emit(Name(*value.type.rsplit(".", 1)))
            out.write(b")\x81")
            self.emit(value.state)
            out.write(b"b")
            self.remember(value)
        elif isinstance(value, Raw):
            out.write(value.opcodes)
        else:
            raise TypeError(type(value))

    def recalled(self, value):
        """Whether the value is in the memo, and was taken from there."""
        if id(value) in self.memo:
            self.out.write(b"j" + struct.pack("<I", self.memo[id(value)]))
        return id(value) in self.memo

    def remember(self, value):
        self.memo[id(value)] = len(self.memo)
        self.out.write(b"r" + struct.pack("<I", self.memo[id(value)]))

    def emit_tensor(self, tensor):
        self.alive.append(tensor)
        storage = tensor.untyped_storage()
        stored = self.storages.get(storage.data_ptr())
        if stored is None:
            stored = Storage(str(len(self.records)), STORAGE[tensor.dtype], storage.nbytes() // tensor.element_size())
            self.storages[storage.data_ptr()] = stored
            self.records[stored.key] = bytes(storage)
        flags = {"conj": True} if tensor.is_conj() else {"neg": True} if tensor.is_neg() else None
        self.emit(Tensor(stored, tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.requires_grad,
                         *([flags] if flags else [])))  # fmt: skip


def pickled(value):
    """(the pickle, the records of its tensors by key)"""
    pickler = _Pickler()
    pickler.emit(value)
    return b"\x80\x02" + pickler.out.getvalue() + b".", pickler.records


def archive(records, top="m", compression=zipfile.ZIP_STORED):
    """`records`: name without the top folder -> text or bytes; None leaves one out."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as file:
        for name, data in records.items():
            if data is not None:
                file.writestr(f"{top}/{name}", data)
    return made.getvalue()


def program(
    body,
    parameters="x: Tensor",
    returns="Tensor",
    attributes=None,
    values=None,
    version=3,
    constants=(),
    before="",
    methods="",
    records=None,
):
    """The records of an archive whose class M has these attributes (name -> annotation), their values, and a forward of
    that body; `before` is put in front of the class in its file."""
    attributes = attributes or {}
    lines = [f"  {name} : {annotation}" for name, annotation in attributes.items()]
    signature = f"  def forward(self: __torch__.M,\n    {parameters}) -> {returns}:"
    source = "\n".join([textwrap.dedent(before).strip("\n"), "class M(Module):", "  __parameters__ = []", *lines, signature])
    source += "\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"
    source += textwrap.indent(textwrap.dedent(methods).strip("\n"), "  ") + "\n"
    data, weights = pickled(Object("__torch__.M", values or {}))
    constant_data, constant_weights = pickled(tuple(constants))
    made = {"version": f"{version}\n", "data.pkl": data, "code/__torch__.py": source.lstrip("\n"), "constants.pkl": constant_data}
    made |= {f"data/{key}": value for key, value in weights.items()}
    made |= {f"constants/{key}": value for key, value in constant_weights.items()}
    return made | (records or {})


def module(body, **options):
    return archive(program(body, **options))

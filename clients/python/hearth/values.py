"""Values of Python as values of hearth.v1 and back (proto/hearth.proto).

| Python | TorchScript |
|---|---|
| None, bool, int, float, complex, str | the same |
| numpy.ndarray, torch.Tensor | Tensor |
| numpy's scalars | bool, int, float, complex |
| torch.device, Device | torch.device |
| list, tuple, named tuple, dict | List, Tuple, NamedTuple, Dict |
| enum.Enum, EnumMember | a member of an enum, by its name |
| any other object, by the attributes that it has; Object | an object of a TorchScript class |

Read back, a named tuple is one of Python's, an object an `Object`, an enum an `EnumMember`, a device a `Device`.
"""

import collections
import dataclasses
import enum
import functools
import keyword

import numpy as np

from hearth import tensors

# As the server has it: a deeper value is refused there.
MAX_DEPTH = 32


class Object:
    """An object of a TorchScript class: its attributes, and `type_name`, the class as the archive names it."""

    __slots__ = ("__dict__", "type_name")

    def __init__(self, type_name="", /, **attributes):
        self.type_name = type_name
        self.__dict__.update(attributes)

    def __eq__(self, other):
        return isinstance(other, Object) and self.__dict__ == other.__dict__

    __hash__ = None

    def __repr__(self):
        attributes = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{self.type_name.rpartition('.')[2] or 'Object'}({attributes})"


@dataclasses.dataclass(frozen=True)
class EnumMember:
    """A member of an enum: its name, and in answers its value and the enum as the archive names it."""

    name: str
    value: object = None
    type_name: str = ""


class Device(str):
    """The name of a device: Device("cuda:0")."""


class Place:
    """Where in a value something stands. It becomes a text only for who asks: keys can be long, and parts many."""

    __slots__ = ("outer", "form", "step")

    def __init__(self, outer, form, step=None):
        self.outer, self.form, self.step = outer, form, step

    def __str__(self):
        steps, place = [], self
        while isinstance(place, Place):
            steps.append(place.form.format(place.step))
            place = place.outer
        return "".join([str(place), *reversed(steps)])


class ValueWriter:
    """Writes values into messages of hearth.v1.Value, and the bytes of their tensors into `payloads`, which all values of
    one message share. `has_torch_tensor` says whether one was torch's."""

    def __init__(self, payloads):
        self.has_torch_tensor = False
        self._payloads = payloads

    def write(self, value, message, where="the value", depth=0):
        """Raises TypeError for what TorchScript has no form of, and ValueError for an int beyond 64 bits and for what
        nests too deep; both say `where` (a text, or a Place) in the value that is."""
        if depth > MAX_DEPTH:
            raise ValueError(f"{where}: values nest at most {MAX_DEPTH} deep")
        if isinstance(value, np.generic) and not isinstance(value, np.void):
            value = value.item()
        if value is None:
            message.none.SetInParent()
        elif isinstance(value, bool):
            message.bool_value = value
        elif isinstance(value, (enum.Enum, EnumMember)):
            message.enum_value.name = value.name
        elif isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                raise ValueError(f"{where}: an int of TorchScript has 64 bits, got {value}")
            message.int_value = value
        elif isinstance(value, float):
            message.float_value = value
        elif isinstance(value, complex):
            message.complex_value.SetInParent()
            message.complex_value.real, message.complex_value.imag = value.real, value.imag
        elif isinstance(value, Device) or _is_torch_device(value):
            message.device_value = str(value)
        elif isinstance(value, str):
            message.str_value = value
        elif tensors.is_tensor(value):
            self._write_tensor(value, message.tensor, where)
        elif isinstance(value, list):
            message.list.SetInParent()
            for index, item in enumerate(value):
                self.write(item, message.list.items.add(), Place(where, "[{}]", index), depth + 1)
        elif isinstance(value, tuple):
            message.tuple.SetInParent()
            message.tuple.field_names.extend(getattr(value, "_fields", ()))
            for index, item in enumerate(value):
                self.write(item, message.tuple.items.add(), Place(where, "[{}]", index), depth + 1)
        elif isinstance(value, dict):
            message.dict.SetInParent()
            for key, item in value.items():
                entry = message.dict.entries.add()
                self.write(key, entry.key, Place(where, "'s key"), depth + 1)
                self.write(item, entry.value, Place(where, "[{!r}]", key), depth + 1)
        else:
            message.object.SetInParent()
            for name, item in _attributes(value, where).items():
                self.write(item, message.object.fields.add(name=name).value, Place(where, ".{}", name), depth + 1)

    def _write_tensor(self, value, message, where):
        try:
            message.dtype = tensors.dtype_of(value)
            data = tensors.bytes_of(value)
        except TypeError as error:
            raise TypeError(f"{where}: {error}") from None
        message.shape.extend(value.shape)
        message.payload = len(self._payloads)
        self._payloads.append(data)
        self.has_torch_tensor |= tensors.is_torch_tensor(value)


def _is_torch_device(value):
    torch = tensors.torch_if_imported()
    return torch is not None and isinstance(value, torch.device)


def _attributes(value, where):
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    # What has attributes without being a value: classes, functions, modules.
    if not hasattr(value, "__dict__") or isinstance(value, type) or callable(value):
        raise TypeError(f"{where}: {type(value).__name__} has no form in TorchScript")
    return vars(value)


def read_value(message, payloads, tensor=tensors.numpy_tensor):
    """The value of a hearth.v1.Value, its tensors made by `tensor(bytes, dtype, shape)`: tensors.numpy_tensor or
    tensors.torch_tensor."""

    def read(inner):
        return read_value(inner, payloads, tensor)

    kind = message.WhichOneof("kind")
    if kind is None:
        raise ValueError("the answer has a value without a kind")
    value = getattr(message, kind)
    if kind == "none":
        return None
    if kind == "complex_value":
        return complex(value.real, value.imag)
    if kind == "device_value":
        return Device(value)
    if kind == "enum_value":
        return EnumMember(value.name, read(value.value) if value.HasField("value") else None, value.type)
    if kind == "tensor":
        return tensor(payloads[value.payload], value.dtype, value.shape)
    if kind == "list":
        return [read(item) for item in value.items]
    if kind == "tuple":
        items = [read(item) for item in value.items]
        return _named_tuple(value.type, tuple(value.field_names))(*items) if value.field_names else tuple(items)
    if kind == "dict":
        return {read(entry.key): read(entry.value) for entry in value.entries}
    if kind == "object":
        made = Object(value.type)
        made.__dict__.update((field.name, read(field.value)) for field in value.fields)
        return made
    return value


@functools.lru_cache(maxsize=256)
def _named_tuple(type_name, fields):
    short = type_name.rpartition(".")[2]
    named = short if short.isidentifier() and not keyword.iskeyword(short) else "NamedTuple"
    # A field that Python could not name is renamed to its place, as in collections.namedtuple.
    return collections.namedtuple(named, fields, rename=True)

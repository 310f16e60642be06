"""hearth.v1, spoken in Python's values through descriptors alone, as a client in any language would have it."""

import enum

import numpy as np
import torch
from google.protobuf import message_factory

SERVICE = "hearth.v1.ModelService"


class NativeClient:
    def __init__(self, protocol, channel):
        self.protocol = protocol
        self.channel = channel

    def message(self, name):
        return message_factory.GetMessageClass(self.protocol.FindMessageTypeByName(f"hearth.v1.{name}"))

    def method(self, name):
        described = self.protocol.FindServiceByName(SERVICE).methods_by_name[name]
        answer = message_factory.GetMessageClass(described.output_type)
        return self.channel.unary_unary(
            f"/{SERVICE}/{name}",
            request_serializer=lambda request: request if isinstance(request, bytes) else request.SerializeToString(),
            response_deserializer=answer.FromString,
        )

    def request(self, model, method, *args, **kwargs):
        request = self.message("CallRequest")(model=model, method=method)
        for value in args:
            self.write(value, request.args.add(), request.payloads)
        for name, value in kwargs.items():
            self.write(value, request.kwargs[name], request.payloads)
        return request

    def call(self, model, method, *args, **kwargs):
        return self.read_answer(self.method("Call")(self.request(model, method, *args, **kwargs), timeout=60))

    def write(self, value, message, payloads):
        if value is None:
            message.none.SetInParent()
        elif isinstance(value, bool):
            message.bool_value = value
        elif isinstance(value, enum.Enum):
            message.enum_value.name = value.name
        elif isinstance(value, int):
            message.int_value = value
        elif isinstance(value, float):
            message.float_value = value
        elif isinstance(value, complex):
            message.complex_value.SetInParent()
            message.complex_value.real, message.complex_value.imag = value.real, value.imag
        elif isinstance(value, str):
            message.str_value = value
        elif isinstance(value, torch.device):
            message.device_value = str(value)
        elif isinstance(value, torch.Tensor):
            message.tensor.dtype = str(value.dtype).removeprefix("torch.")
            message.tensor.shape.extend(value.shape)
            message.tensor.payload = len(payloads)
            payloads.append(value.resolve_conj().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        elif isinstance(value, list):
            message.list.SetInParent()
            for item in value:
                self.write(item, message.list.items.add(), payloads)
        elif isinstance(value, tuple):
            message.tuple.SetInParent()
            message.tuple.field_names.extend(getattr(value, "_fields", ()))
            for item in value:
                self.write(item, message.tuple.items.add(), payloads)
        elif isinstance(value, dict):
            message.dict.SetInParent()
            for key, item in value.items():
                entry = message.dict.entries.add()
                self.write(key, entry.key, payloads)
                self.write(item, entry.value, payloads)
        else:
            message.object.SetInParent()
            for name, item in vars(value).items():
                self.write(item, message.object.fields.add(name=name).value, payloads)

    def read_answer(self, answer):
        return self.read(answer.result, answer.payloads)

    def read(self, message, payloads):
        """Objects become dicts of their fields, named tuples tuples, enums their names."""
        kind = message.WhichOneof("kind")
        value = getattr(message, kind)
        if kind == "none":
            return None
        if kind == "complex_value":
            return complex(value.real, value.imag)
        if kind == "device_value":
            return torch.device(value)
        if kind == "enum_value":
            return value.name
        if kind == "tensor":
            tensor = torch.empty(tuple(value.shape), dtype=getattr(torch, value.dtype))
            data = np.frombuffer(payloads[value.payload], np.uint8).copy()
            return tensor if tensor.numel() == 0 else torch.from_numpy(data).view(tensor.dtype).reshape(tensor.shape)
        if kind == "list":
            return [self.read(item, payloads) for item in value.items]
        if kind == "tuple":
            return tuple(self.read(item, payloads) for item in value.items)
        if kind == "dict":
            return {self.read(e.key, payloads): self.read(e.value, payloads) for e in value.entries}
        if kind == "object":
            return {field.name: self.read(field.value, payloads) for field in value.fields}
        return value

"""hearth.v1 by its messages, with the client package's form of values: for tests that look at requests and answers."""

import torch
from google.protobuf import message_factory
from hearth.tensors import torch_tensor
from hearth.values import Device, EnumMember, Object, ValueWriter, read_value

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
        writer = ValueWriter(request.payloads)
        for value in args:
            writer.write(value, request.args.add())
        for name, value in kwargs.items():
            writer.write(value, request.kwargs[name])
        return request

    def call(self, model, method, *args, **kwargs):
        return self.read_answer(self.method("Call")(self.request(model, method, *args, **kwargs), timeout=60))

    def read_answer(self, answer):
        return self.read(answer.result, answer.payloads)

    def read(self, message, payloads):
        """Objects become dicts of their fields, named tuples tuples, enums their names."""
        return _plain(read_value(message, payloads, torch_tensor))


def _plain(value):
    if isinstance(value, Object):
        return {name: _plain(item) for name, item in vars(value).items()}
    if isinstance(value, EnumMember):
        return value.name
    if isinstance(value, Device):
        return torch.device(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        made = [_plain(item) for item in value]
        return made if isinstance(value, list) else tuple(made)
    return value

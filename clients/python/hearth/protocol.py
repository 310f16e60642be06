"""The messages and services of hearthd's protocols, from the descriptors that the package carries.

They live in a descriptor pool of their own: other clients of the Open Inference Protocol in the same process define
messages of the same names.
"""

import functools
from importlib import resources

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

NATIVE = "hearth.v1.ModelService"
INFERENCE = "inference.GRPCInferenceService"
HEALTH = "grpc.health.v1.Health"


@functools.lru_cache(maxsize=None)
def pool():
    """The pool of all descriptors, as a google.protobuf.descriptor_pool.DescriptorPool."""
    made = descriptor_pool.DescriptorPool()
    data = resources.files(__package__).joinpath("protocol.binpb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        made.Add(file)
    return made


@functools.lru_cache(maxsize=None)
def message(name):
    """The class of a message by its full name: "hearth.v1.CallRequest"."""
    return message_factory.GetMessageClass(pool().FindMessageTypeByName(name))


class Rpc:
    """A method of a service: its path, its messages, and whether requests and answers are streams."""

    def __init__(self, service, name):
        described = pool().FindServiceByName(service).methods_by_name[name]
        self.path = f"/{service}/{name}"
        self.request = message_factory.GetMessageClass(described.input_type)
        self.answer = message_factory.GetMessageClass(described.output_type)


@functools.lru_cache(maxsize=None)
def rpc(service, name):
    return Rpc(service, name)


def as_dict(message):
    """A message as a dict of plain values, with every field that is set: numbers stay numbers, enums go by name."""
    plain = {}
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            entry = field.message_type.fields_by_name["value"]
            plain[field.name] = {key: _plain(entry, item) for key, item in value.items()}
        elif is_repeated(field):
            plain[field.name] = [_plain(field, item) for item in value]
        else:
            plain[field.name] = _plain(field, value)
    return plain


def is_repeated(field):
    # Newer releases of protobuf warn about `label`, older ones have nothing else.
    repeated = getattr(field, "is_repeated", None)
    return field.label == field.LABEL_REPEATED if repeated is None else repeated


def _plain(field, value):
    if field.message_type is not None:
        return as_dict(value)
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name
    return value

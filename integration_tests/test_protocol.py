"""hearth's protocol files against the descriptors that tritonclient and grpcio's packages of health and reflection were built
with: the same messages on the wire, field by field."""

import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from tritonclient.grpc import model_config_pb2, service_pb2

from integration_tests.protocol_files import PROTOCOL_FILES as FILES

THEIRS = {
    "proto/inference/service.proto": service_pb2.DESCRIPTOR,
    "proto/inference/model_config.proto": model_config_pb2.DESCRIPTOR,
    "proto/health/health.proto": health_pb2.DESCRIPTOR,
    "proto/reflection/reflection.proto": reflection_pb2.DESCRIPTOR,
}


def describe_field(field):
    kind = field.message_type or field.enum_type
    oneof = field.containing_oneof.name if field.containing_oneof else None
    # Of an optional field, which is the same on the wire.
    if oneof == f"_{field.name}":
        oneof = None
    return (field.name, field.number, field.type, field.label, kind and kind.full_name, oneof)


def compare_messages(ours, theirs, seen):
    """Every field that we define is theirs, and every field of theirs is ours."""
    seen.append(ours.full_name)
    assert ours.full_name == theirs.full_name
    assert {describe_field(f) for f in ours.fields} == {describe_field(f) for f in theirs.fields}, ours.full_name
    assert set(ours.nested_types_by_name) == set(theirs.nested_types_by_name), ours.full_name
    for name, nested in ours.nested_types_by_name.items():
        compare_messages(nested, theirs.nested_types_by_name[name], seen)
    for name, enum in ours.enum_types_by_name.items():
        compare_enums(enum, theirs.enum_types_by_name[name])


def compare_enums(ours, theirs):
    assert {v.name: v.number for v in ours.values} == {v.name: v.number for v in theirs.values}, ours.full_name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", FILES)
def test_every_message_and_enum_is_theirs_field_by_field(protocol, file):
    ours, theirs = protocol.FindFileByName(file), THEIRS[file]
    assert ours.package == theirs.package
    seen = []
    for name, message in ours.message_types_by_name.items():
        if name not in theirs.message_types_by_name:
            assert file.startswith("proto/health")  # List is newer than some of grpcio's packages
            continue
        compare_messages(message, theirs.message_types_by_name[name], seen)
    assert len(seen) >= 2
    for name, enum in ours.enum_types_by_name.items():
        compare_enums(enum, theirs.enum_types_by_name[name])


@pytest.mark.parametrize("file", FILES)
def test_every_method_has_their_name_and_types(protocol, file):
    for name, ours in protocol.FindFileByName(file).services_by_name.items():
        theirs = THEIRS[file].services_by_name[name]
        assert ours.full_name == theirs.full_name
        for method in ours.methods:
            if method.name not in theirs.methods_by_name:
                assert (name, method.name) == ("Health", "List")
                continue
            other = theirs.methods_by_name[method.name]
            assert method.input_type.full_name == other.input_type.full_name
            assert method.output_type.full_name == other.output_type.full_name
            assert (method.client_streaming, method.server_streaming) == (other.client_streaming, other.server_streaming)

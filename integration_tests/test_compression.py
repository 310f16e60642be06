"""Compressed messages: right answers to those that are honest, bounded memory for those that inflate without end."""

import gzip
import zlib

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from integration_tests import server_models as models
from integration_tests.native import NativeClient
from integration_tests.serving import Stream, tensor
from integration_tests.test_hostile_requests import Memory

MEBIBYTE = 1 << 20
MOST = 16 * MEBIBYTE
BOMB = bytes(192 * MEBIBYTE)
SERVICE = "/inference.GRPCInferenceService"
ALGORITHMS = {"gzip": grpc.Compression.Gzip, "deflate": grpc.Compression.Deflate}


@pytest.fixture(scope="module")
def server(hearthd):
    return hearthd({"identity": models.scripted(models.Identity())}, "--max-request-bytes", MOST)


@pytest.fixture
def channel(server):
    with server.channel() as made:
        yield made


# ---- Answers ----


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("elements", [0, 1, 1000, 3_000_000])
def test_a_compressed_inference_has_the_same_answer(client, algorithm, elements):
    array = np.arange(elements, dtype=np.float32)
    answer = client.infer("identity", [tensor("x", array)], compression_algorithm=algorithm)
    assert np.array_equal(answer.as_numpy("OUTPUT__0"), array)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_strings_travel_compressed(client, algorithm):
    request = tensor("x", np.random.default_rng(1).integers(0, 255, size=(777, 33)).astype(np.uint8))
    answer = client.infer("identity", [request], compression_algorithm=algorithm).as_numpy("OUTPUT__0")
    assert answer.shape == (777, 33) and answer.tobytes() == request._get_content()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_compressed_stream_has_the_same_answers(server, algorithm):
    with Stream(server) as stream:
        stream.client.stop_stream()
        stream.client.start_stream(
            lambda result, error: stream.answers.put((result, error)), compression_algorithm=algorithm
        )
        for size in (1, 10_000, 500_000):
            stream.send("identity", [tensor("x", np.full(size, size, dtype=np.int64))])
        for size in (1, 10_000, 500_000):
            result, error = stream.next()
            assert error is None and result.as_numpy("OUTPUT__0").tolist() == [size] * size


@pytest.mark.parametrize("compression", ALGORITHMS.values())
def test_every_other_kind_of_method_takes_compressed_messages(channel, protocol, compression):
    stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
    metadata = stub.ModelMetadata(service_pb2.ModelMetadataRequest(name="identity"), compression=compression)
    assert metadata.name == "identity"
    index = stub.RepositoryIndex(service_pb2.RepositoryIndexRequest(ready=True), compression=compression)
    assert [model.name for model in index.models] == ["identity"]
    load = service_pb2.RepositoryModelLoadRequest(model_name="identity")
    load.parameters["config"].string_param = '{"max_batch_size": 0' + " " * 500_000 + "}"
    stub.RepositoryModelLoad(load, compression=compression)
    health = health_pb2_grpc.HealthStub(channel)
    serving = health_pb2.HealthCheckResponse.SERVING
    request = health_pb2.HealthCheckRequest(service="identity")
    assert health.Check(request, compression=compression).status == serving
    watch = health.Watch(request, compression=compression)
    assert next(watch).status == serving
    watch.cancel()
    reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
    question = reflection_pb2.ServerReflectionRequest(list_services="")
    assert next(reflection.ServerReflectionInfo(iter([question]), compression=compression)).list_services_response
    native = NativeClient(protocol, channel)
    methods = native.method("ListMethods")(native.message("ListMethodsRequest")(model="identity"), compression=compression)
    assert [method.name for method in methods.methods] == ["forward"]
    call = native.request("identity", "forward", models.torch.ones(5000))
    assert native.read_answer(native.method("Call")(call, compression=compression)).tolist() == [1] * 5000


# ---- Bombs ----

# As large as may be before it is inflated, for methods that take less.
SMALL_BOMB = bytes(48 * MEBIBYTE)
INFERENCES = [f"{SERVICE}/ModelInfer", "/hearth.v1.ModelService/Call"]
OTHERS = [
    f"{SERVICE}/ServerLive",
    f"{SERVICE}/ModelStatistics",
    f"{SERVICE}/RepositoryIndex",
    f"{SERVICE}/RepositoryModelLoad",
    "/hearth.v1.ModelService/ListPlans",
    "/hearth.v1.ModelService/Warm",
    "/grpc.health.v1.Health/Check",
]


def exploded(error):
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "inflates to more than" in error.value.details()


@pytest.mark.parametrize("method", INFERENCES)
def test_a_bomb_for_an_inference(server, channel, method):
    with Memory(server) as memory, pytest.raises(grpc.RpcError) as error:
        channel.unary_unary(method)(BOMB, timeout=60, compression=grpc.Compression.Gzip)
    exploded(error)
    assert memory.grown < 3 * MOST


@pytest.mark.parametrize("method", OTHERS)
def test_a_bomb_for_a_method_without_tensors(server, channel, method):
    with Memory(server) as memory, pytest.raises(grpc.RpcError) as error:
        channel.unary_unary(method)(SMALL_BOMB, timeout=60, compression=grpc.Compression.Gzip)
    exploded(error)
    assert memory.grown < 8 * MEBIBYTE


@pytest.mark.parametrize("compression", ALGORITHMS.values())
def test_a_bomb_on_a_stream_is_the_answer_of_its_request(server, channel, compression):
    honest = service_pb2.ModelInferRequest(model_name="identity")
    honest.inputs.add(name="x", datatype="UINT8", shape=[1])
    honest.raw_input_contents.append(b"\x07")
    stream = channel.stream_stream(
        f"{SERVICE}/ModelStreamInfer", response_deserializer=service_pb2.ModelStreamInferResponse.FromString
    )
    with Memory(server) as memory:
        requests = iter([BOMB, honest.SerializeToString(), BOMB])
        answers = list(stream(requests, timeout=60, compression=compression))
    assert ["inflates to more than" in answer.error_message for answer in answers] == [True, False, True]
    assert answers[1].infer_response.raw_output_contents[0] == b"\x07"
    assert memory.grown < 6 * MOST


def test_a_bomb_for_a_watch_and_for_reflection(server, channel):
    with Memory(server) as memory:
        with pytest.raises(grpc.RpcError) as error:
            next(channel.unary_stream("/grpc.health.v1.Health/Watch")(SMALL_BOMB, compression=grpc.Compression.Gzip))
        exploded(error)
        with pytest.raises(grpc.RpcError) as error:
            method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
            next(channel.stream_stream(method)(iter([SMALL_BOMB]), compression=grpc.Compression.Gzip))
        exploded(error)
    assert memory.grown < 8 * MEBIBYTE


def test_many_bombs_at_once_meet_the_limit_of_all_requests(hearthd):
    limit = 96 * MEBIBYTE
    server = hearthd({"identity": models.scripted(models.Identity())}, "--requests-memory-limit", limit, "--kept-memory", 0)
    with server.channel() as channel, Memory(server) as memory:
        infer = channel.unary_unary(f"{SERVICE}/ModelInfer")
        calls = [infer.future(BOMB, timeout=60, compression=grpc.Compression.Gzip) for _ in range(6)]
        errors = [call.exception() for call in calls]
    assert {error.code() for error in errors} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert memory.grown < limit + 64 * MEBIBYTE


# ---- What is not compressed as it says ----


@pytest.mark.parametrize("method", [f"{SERVICE}/ModelInfer", f"{SERVICE}/ServerLive"])
def test_bytes_that_look_compressed_but_are_not_said_to_be(channel, method):
    for bytes_sent in (gzip.compress(b"x" * 100), zlib.compress(b"x" * 100)):
        with pytest.raises(grpc.RpcError) as error:
            channel.unary_unary(method)(bytes_sent, timeout=60)
        assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT

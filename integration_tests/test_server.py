"""hearthd over gRPC and HTTP, asked by tritonclient: every method, every datatype, every way to be wrong."""

import json
import queue
import threading

import grpc
import ml_dtypes
import numpy as np
import pytest
import server_models as models
import tritonclient.grpc as triton
from daemon import eventually, put_model
from google.protobuf import descriptor_pb2, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

LONG = 2_000_000_000  # rounds of Spin: far longer than any test

TWO_CONFIG = """
platform: "pytorch_libtorch"
max_batch_size: 4
input [ { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 3 ] }, { name: "INPUT__1" data_type: TYPE_FP32 dims: [ 3 ] } ]
output [ { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 3 ] }, { name: "OUTPUT__1" data_type: TYPE_FP32 dims: [ 3 ] } ]
"""


@pytest.fixture(scope="module")
def server(hearthd):
    made = {
        "identity": models.Identity(),
        "scaled": models.Scaled(),
        "nested": models.Nested(),
        "dict": models.OnlyDict(),
        "spin": models.Spin(),
        "raises": models.Raises(),
        "constant": models.Constant(1.0),
    }
    repository = {name: models.scripted(model) for name, model in made.items()}
    repository["two"] = (models.scripted(models.Two()), TWO_CONFIG)
    return hearthd(repository)


@pytest.fixture(scope="module")
def client(server):
    with server.client() as made:
        yield made


@pytest.fixture(scope="module")
def stub(server):
    with server.channel() as channel:
        yield service_pb2_grpc.GRPCInferenceServiceStub(channel)


def tensor(name, array, datatype=None):
    array = np.asarray(array)
    made = triton.InferInput(name, list(array.shape), datatype or np_to_triton_dtype(array.dtype))
    return made.set_data_from_numpy(array)


def floats(name, *values):
    return tensor(name, np.array(values, dtype=np.float32))


def outputs_of(result):
    return {output.name: result.as_numpy(output.name) for output in result.get_response().outputs}


def fails(code, call):
    """The message with which it fails."""
    with pytest.raises((InferenceServerException, grpc.RpcError)) as caught:
        call()
    error = caught.value
    if isinstance(error, grpc.RpcError):
        assert error.code() == code, error
        return error.details()
    assert error.status() == f"StatusCode.{code.name}", error
    return error.message()


# ---- what the server says about itself and its models


def test_the_server_is_live_and_ready(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("identity")
    assert client.is_model_ready("identity", "1")
    assert not client.is_model_ready("identity", "2")
    assert not client.is_model_ready("nothing")


def test_the_server_names_itself_and_what_it_offers(client):
    metadata = client.get_server_metadata()
    assert metadata.name == "hearth"
    assert "model_repository" in metadata.extensions
    assert "statistics" in metadata.extensions


def test_metadata_of_a_model_without_configuration_comes_from_its_schema(client):
    metadata = client.get_model_metadata("nested")
    assert list(metadata.versions) == ["1"]
    assert metadata.platform == "pytorch_libtorch"
    assert [(t.name, t.datatype) for t in metadata.inputs] == [
        ("images.*", ""), ("pair.0", "INT64"), ("pair.1", ""), ("options.*", ""), ("names", "BYTES"),
    ]  # fmt: skip
    assert list(metadata.inputs[4].shape) == [-1]
    assert [(t.name, t.datatype) for t in metadata.outputs] == [
        ("0.*.*", ""), ("1.boxes", ""), ("1.label", "BYTES"), ("2", ""), ("3", "INT64"), ("4", "BYTES"), ("5", "BOOL"),
    ]  # fmt: skip


def test_metadata_of_a_configured_model_is_its_configurations(client):
    metadata = client.get_model_metadata("two")
    assert [(t.name, t.datatype, list(t.shape)) for t in metadata.inputs] == [
        ("INPUT__0", "FP32", [-1, 3]),
        ("INPUT__1", "FP32", [-1, 3]),
    ]
    config = client.get_model_config("two").config
    assert config.max_batch_size == 4
    assert config.backend == "pytorch"
    assert config.default_model_filename == "model.pt"


def test_an_unknown_model_or_version_is_not_found(client):
    for ask in (client.get_model_metadata, client.get_model_config):
        assert "nothing" in fails(grpc.StatusCode.NOT_FOUND, lambda ask=ask: ask("nothing"))
        assert "only 1" in fails(grpc.StatusCode.NOT_FOUND, lambda ask=ask: ask("identity", "7"))
    for version in ("x", "0", "-1", "1.5"):
        fails(grpc.StatusCode.INVALID_ARGUMENT, lambda v=version: client.get_model_metadata("identity", v))


# ---- datatypes

NUMPY = {
    "BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64, "INT8": np.int8,
    "INT16": np.int16, "INT32": np.int32, "INT64": np.int64, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
}  # fmt: skip
TYPED = {
    "BOOL": "bool_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents",
}  # fmt: skip


def some_of(dtype):
    if dtype == np.bool_:
        return np.array([[True, False, True], [False, False, True]])
    if np.issubdtype(dtype, np.floating):
        return np.array([[0.5, -2.0, 3.25], [np.inf, 1.0, -0.0]], dtype=dtype)
    info = np.iinfo(dtype)
    return np.array([[info.min, info.max, 1], [2, 3, 4]], dtype=dtype)


@pytest.mark.parametrize("datatype", NUMPY)
def test_every_datatype_comes_back_as_it_went(client, datatype):
    sent = some_of(NUMPY[datatype])
    result = client.infer("identity", [tensor("x", sent, datatype)])
    assert result.get_response().outputs[0].datatype == datatype
    np.testing.assert_array_equal(result.as_numpy("OUTPUT__0"), sent)


def test_bf16_comes_back_as_it_went(client):
    sent = np.array([1.5, -3.0, 1e30], dtype=ml_dtypes.bfloat16)
    result = client.infer("identity", [triton.InferInput("x", [3], "BF16").set_data_from_numpy(sent)])
    assert result.get_response().outputs[0].datatype == "BF16"
    np.testing.assert_array_equal(result.as_numpy("OUTPUT__0"), sent)


@pytest.mark.parametrize("datatype", TYPED)
def test_typed_contents_are_read(stub, datatype):
    sent = some_of(NUMPY[datatype])
    request = service_pb2.ModelInferRequest(model_name="identity")
    described = request.inputs.add(name="x", datatype=datatype, shape=sent.shape)
    getattr(described.contents, TYPED[datatype]).extend(sent.flatten().tolist())
    answer = stub.ModelInfer(request)
    assert answer.outputs[0].datatype == datatype
    assert answer.raw_output_contents[0] == sent.tobytes()


def test_typed_strings_are_read(stub):
    request = service_pb2.ModelInferRequest(model_name="nested")
    for name in ("images.0", "pair.1", "options.k"):
        described = request.inputs.add(name=name, datatype="FP32", shape=[1])
        described.contents.fp32_contents.append(1)
    request.inputs.add(name="pair.0", datatype="INT64", shape=[]).contents.int64_contents.append(1)
    request.inputs.add(name="names", datatype="BYTES", shape=[1]).contents.bytes_contents.append(b"a")
    request.outputs.add(name="4")
    assert stub.ModelInfer(request).raw_output_contents[0] == b"\x02\x00\x00\x00a!"


def test_fp16_has_no_typed_contents(stub):
    request = service_pb2.ModelInferRequest(model_name="identity")
    request.inputs.add(name="x", datatype="FP16", shape=[1]).contents.fp32_contents.append(1)
    assert "raw_input_contents" in fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: stub.ModelInfer(request))


def test_a_typed_value_that_does_not_fit_its_datatype_is_refused(stub):
    request = service_pb2.ModelInferRequest(model_name="identity")
    request.inputs.add(name="x", datatype="INT8", shape=[1]).contents.int_contents.append(300)
    assert "300" in fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: stub.ModelInfer(request))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (7, 5), (600, 256), (2, 1024, 1024)])
def test_shapes_and_sizes_survive(client, shape):
    sent = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    got = client.infer("identity", [tensor("x", sent)]).as_numpy("OUTPUT__0")
    assert got.shape == sent.shape
    np.testing.assert_array_equal(got, sent)


def test_the_answer_carries_id_name_and_version(client):
    response = client.infer("identity", [floats("x", 1)], request_id="q 17").get_response()
    assert (response.id, response.model_name, response.model_version) == ("q 17", "identity", "1")


# ---- names and nesting


def test_nested_values_go_in_and_out_by_path(client):
    inputs = [
        floats("images.0", 1, 2), floats("images.1", 3), tensor("pair.0", np.array(10, dtype=np.int64)),
        floats("pair.1", 100), floats("options.a", 20), floats("options.b.c", 3),
        tensor("names", np.array([b"x", "y\u00e9".encode()], dtype=object)),
    ]  # fmt: skip
    got = outputs_of(client.infer("nested", inputs))
    assert list(got) == ["0.0.boxes", "0.0.sum", "0.1.boxes", "0.1.sum", "1.boxes", "1.label", "3", "4", "5"]
    np.testing.assert_array_equal(got["0.0.boxes"], [11, 12])
    np.testing.assert_array_equal(got["0.1.sum"], 3)
    np.testing.assert_array_equal(got["1.boxes"], [123])
    assert got["1.label"].shape == () and got["1.label"].item() == b"sum"
    np.testing.assert_array_equal(got["3"], [2, 1])
    assert got["4"].tolist() == [b"x!", "y\u00e9!".encode()]
    assert got["5"].shape == () and got["5"].item() is True


def test_only_requested_outputs_come_in_their_order(client):
    inputs = [
        floats("images.0", 1, 2), tensor("pair.0", np.array([10])), floats("pair.1", 100), floats("options.a", 20),
        tensor("names", np.array([b"x"], dtype=object)),
    ]  # fmt: skip
    wanted = [triton.InferRequestedOutput(name) for name in ("3", "0.0.boxes", "OUTPUT__1.boxes", "2")]
    got = outputs_of(client.infer("nested", inputs, outputs=wanted))
    assert list(got) == ["3", "0.0.boxes", "OUTPUT__1.boxes"]  # "2" is None
    unknown = [triton.InferRequestedOutput("0.7.boxes")]
    message = fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: client.infer("nested", inputs, outputs=unknown))
    assert "'0.7.boxes'" in message and "'0.0.boxes'" in message


def test_defaults_and_optionals_may_be_left_out_or_given(client):
    def ask(*more):
        return client.infer("scaled", [floats("x", 1, 2), *more]).as_numpy("OUTPUT__0").tolist()

    assert ask() == [2, 4]
    assert ask(tensor("times", np.array(3, dtype=np.int32))) == [8, 16]
    assert ask(floats("bias", 1, 1)) == [3, 5]
    assert ask(tensor("scale", np.array([0.5])), floats("bias", 1, 1)) == [1.5, 2]


def test_positional_names_are_accepted_without_a_configuration(client):
    result = client.infer("scaled", [floats("INPUT__0", 1, 2), tensor("INPUT__1", np.array(3.0))])
    assert result.as_numpy("OUTPUT__0").tolist() == [3, 6]


def test_a_model_of_one_dict_takes_its_keys_as_names(client):
    got = outputs_of(client.infer("dict", [floats("a", 1), floats("b.c", 2)]))
    assert {name: value.tolist() for name, value in got.items()} == {"a_doubled": [2], "b.c_doubled": [4]}
    assert list(outputs_of(client.infer("dict", [floats("d.a", 1)]))) == ["a_doubled"]


def test_a_configurations_names_and_batches_are_used(client):
    a, b = np.array([[1, 2, 3]], dtype=np.float32), np.array([[1, 1, 1]], dtype=np.float32)
    got = outputs_of(client.infer("two", [tensor("INPUT__1", b), tensor("INPUT__0", a)]))
    assert list(got) == ["OUTPUT__0", "OUTPUT__1"]
    np.testing.assert_array_equal(got["OUTPUT__1"], a - b)


# ---- requests that are wrong


def bad(client, model, *inputs):
    return fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: client.infer(model, list(inputs)))


def test_wrong_names_are_told_with_the_right_ones(client):
    assert "'y' is not known; the model takes 'x' (Tensor)" in bad(client, "identity", floats("y", 1))
    assert "'x' (Tensor) is missing" in bad(client, "identity")
    assert "'x' is given more than once" in bad(client, "identity", floats("x", 1), floats("x", 1))
    assert "'INPUT__0' is given more than once" in bad(client, "identity", floats("x", 1), floats("INPUT__0", 1))
    assert "'images.1' is missing: 'images.2' is there" in bad(
        client, "nested", floats("images.0", 1), floats("images.2", 1)
    )
    assert "'x.0' does not belong to 'x', which is one tensor" in bad(client, "identity", floats("x.0", 1))
    assert "whose parts are given one by one, as 'images.0'" in bad(client, "nested", floats("images", 1))


def test_wrong_datatypes_are_told_with_what_was_expected(client):
    assert "'times' is a int and expects INT64" in bad(client, "scaled", floats("x", 1), floats("times", 1))
    a = np.zeros((1, 3), dtype=np.float64)
    assert "'INPUT__0' expects the datatype FP32, got FP64" in bad(client, "two", tensor("INPUT__0", a))
    strings = tensor("x", np.array([b"a"], dtype=object))
    assert "cannot hold BYTES" in bad(client, "identity", strings)


def test_wrong_shapes_are_told_with_what_was_expected(client):
    def two(shape):
        return bad(client, "two", tensor("INPUT__0", np.zeros(shape, dtype=np.float32)))

    assert "expects the shape [-1,3], got [1,4]" in two((1, 4))
    assert "expects 2 dimensions, [-1,3], got 1: [3]" in two((3,))
    assert "has a batch of 5; the model takes at most 4" in two((5, 3))
    scalar = tensor("times", np.array([1, 2]))
    assert "one element of shape [] or [1], got the shape [2]" in bad(client, "scaled", floats("x", 1), scalar)


def raw_request(datatype, shape, *contents):
    request = service_pb2.ModelInferRequest(model_name="identity")
    request.inputs.add(name="x", datatype=datatype, shape=shape)
    request.raw_input_contents.extend(contents)
    return request


@pytest.mark.parametrize(
    "request_, words",
    [
        (raw_request("FP32", [2], b"\0" * 7), "expects 8 bytes, got 7"),
        (raw_request("FP99", [1], b"\0" * 4), "unknown datatype 'FP99'"),
        (raw_request("FP32", [-1], b"\0" * 4), "dimension of -1"),
        (raw_request("FP32", [2**40, 2**40], b"\0" * 4), "more elements than memory can hold"),
        (raw_request("FP32", [1], b"\0" * 4, b"\0" * 4), "1 inputs and 2 raw_input_contents"),
        (raw_request("BYTES", [1], b"\5\0\0\0abc"), "ends within element 0"),
        (raw_request("BYTES", [1], b"\5\0"), "ends within the length of element 0"),
        (raw_request("BYTES", [2], b"\1\0\0\0a"), "expects 2 elements, got 1"),
        (raw_request("FP32", [2]), "expects 2 elements in fp32_contents, got 0"),
    ],
)
def test_contents_that_do_not_fit_are_told_with_expected_and_got(stub, request_, words):
    assert words in fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: stub.ModelInfer(request_))


def test_raw_and_typed_contents_together_are_refused(stub):
    request = raw_request("FP32", [1], b"\0" * 4)
    request.inputs[0].contents.fp32_contents.append(1)
    assert "typed contents" in fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: stub.ModelInfer(request))


def test_bytes_that_are_no_request_are_refused(server):
    with server.channel() as channel:
        infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        for message in (b"\xff\xff\xff", b"\x3a\xff\x01abc", b"\x0a\x02\xff\xfe"):
            details = fails(grpc.StatusCode.INVALID_ARGUMENT, lambda m=message: infer(m))
            assert "not a ModelInferRequest" in details


def test_mutilated_requests_are_answered_and_harm_nobody(server, client):
    """Every byte may be wrong: an answer or an error that blames the request, never the end of the process."""
    request = raw_request("FP32", [2, 3], bytes(range(24)))
    request.inputs.add(name="y", datatype="BYTES", shape=[1])
    request.raw_input_contents.append(b"\1\0\0\0a")
    request.outputs.add(name="OUTPUT__0")
    request.parameters["priority"].int64_param = 3
    whole = request.SerializeToString()
    random = np.random.default_rng(7)
    allowed = {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND}
    with server.channel() as channel:
        infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        for i in range(1500):
            bytes_ = bytearray(whole)
            for _ in range(random.integers(1, 4)):
                bytes_[random.integers(len(bytes_))] = random.integers(256)
            if i % 3 == 0:
                del bytes_[random.integers(len(bytes_)) :]
            try:
                infer(bytes(bytes_))
            except grpc.RpcError as error:
                assert error.code() in allowed, error
    assert client.infer("identity", [floats("x", 1)]).as_numpy("OUTPUT__0").tolist() == [1]


def test_what_is_not_offered_is_told(client):
    output = triton.InferRequestedOutput("OUTPUT__0", class_count=3)
    message = fails(
        grpc.StatusCode.INVALID_ARGUMENT, lambda: client.infer("identity", [floats("x", 1)], outputs=[output])
    )
    assert "classification" in message
    fails(grpc.StatusCode.UNIMPLEMENTED, lambda: client.get_system_shared_memory_status())


def test_a_message_over_the_bound_is_refused_and_the_connection_lives(hearthd):
    small = hearthd({"identity": models.scripted(models.Identity())}, "--max-request-bytes", "10000")
    with small.client() as client:
        message = fails(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            lambda: client.infer("identity", [tensor("x", np.zeros(10000, dtype=np.float32))]),
        )
        assert "10000" in message
        assert client.infer("identity", [floats("x", 1)]).as_numpy("OUTPUT__0").tolist() == [1]


def test_a_model_that_raises_gives_its_traceback(client):
    message = fails(grpc.StatusCode.INTERNAL, lambda: client.infer("raises", [floats("x", 1, 2)]))
    assert "one element is enough" in message
    assert 'raise ValueError("one element is enough")' in message  # the line of the user's own source
    operator = fails(grpc.StatusCode.INTERNAL, lambda: client.infer("raises", [floats("x", 1)]))
    assert "mat1 and mat2 shapes cannot be multiplied" in operator and "torch.matmul" in operator


def test_an_answer_is_not_changed_by_the_next_call(client):
    """The model answers its own buffer and changes it in place, while earlier answers are still being sent."""
    answers = queue.Queue()
    for _ in range(40):
        client.async_infer(
            "constant", [tensor("add", np.array(1.0))], callback=lambda result, error: answers.put((result, error))
        )
    firsts = []
    for _ in range(40):
        result, error = answers.get(timeout=60)
        assert error is None
        values = result.as_numpy("OUTPUT__0")
        assert (values == values[0]).all()
        firsts.append(int(values[0]))
    assert sorted(firsts) == list(range(2, 42))


# ---- deadlines, cancelling, clients that go away


def spin(rounds):
    return [floats("x", 0), tensor("rounds", np.array(rounds))]


def in_flight(server):
    return server.metric("hearth_in_flight_requests", model="spin")


def test_a_deadline_ends_the_run(server, client):
    fails(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: client.infer("spin", spin(LONG), client_timeout=0.3))
    eventually(lambda: in_flight(server) == 0)


def test_a_cancelled_call_ends_the_run(server, client):
    done = queue.Queue()
    call = client.async_infer("spin", spin(LONG), callback=lambda result, error: done.put(error))
    eventually(lambda: in_flight(server) == 1)
    call.cancel()
    assert "CANCELLED" in str(done.get(timeout=30))
    eventually(lambda: in_flight(server) == 0)
    assert server.metric("nv_inference_request_failure", model="spin", reason="CANCELED") >= 1


def test_a_client_that_goes_away_ends_its_runs(server):
    client = server.client()
    client.async_infer("spin", spin(LONG), callback=lambda result, error: None)
    eventually(lambda: in_flight(server) == 1)
    client.close()
    eventually(lambda: in_flight(server) == 0)


def test_requests_over_the_bound_are_refused_at_once(hearthd):
    full = hearthd({"spin": models.scripted(models.Spin())}, "--max-in-flight-requests", "2")
    with full.client() as client:
        calls = [client.async_infer("spin", spin(LONG), callback=lambda result, error: None) for _ in range(2)]
        eventually(lambda: in_flight(full) == 2)
        message = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: client.infer("spin", spin(1)))
        assert "2 requests" in message
        for call in calls:
            call.cancel()
        eventually(lambda: in_flight(full) == 0)
        assert client.infer("spin", spin(1)).as_numpy("OUTPUT__0").tolist() == [1]
        assert full.metric("nv_inference_request_failure", model="spin", reason="REJECTED") == 1


def test_a_model_that_was_quick_and_then_is_slow_holds_nobody_up(server, client):
    for _ in range(50):
        client.infer("spin", spin(1))
    calls = [client.async_infer("spin", spin(LONG), callback=lambda result, error: None) for _ in range(8)]
    eventually(lambda: in_flight(server) == 8)
    for _ in range(20):
        assert client.is_server_ready()
        assert not client.is_model_ready("nothing")
    for call in calls:
        call.cancel()
    eventually(lambda: in_flight(server) == 0)


def test_quick_answers_of_many_clients_are_each_their_own(server):
    problems = []

    def ask(seed):
        with server.client() as client:
            for i in range(200):
                sent = np.array([seed, i], dtype=np.float32)
                got = client.infer("identity", [tensor("x", sent)]).as_numpy("OUTPUT__0")
                if not np.array_equal(got, sent):
                    problems.append((sent, got))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


# ---- streams


class Stream:
    """A tritonclient's stream, its answers in a queue."""

    def __init__(self, server):
        self.client = server.client()
        self.answers = queue.Queue()
        self.client.start_stream(lambda result, error: self.answers.put((result, error)))

    def send(self, model, inputs, **options):
        self.client.async_stream_infer(model, inputs, **options)

    def next(self):
        return self.answers.get(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.client.close()


def test_a_stream_answers_in_the_order_of_its_requests(server):
    with Stream(server) as stream:
        rounds = [20000, 1, 5000, 2] * 25
        for i, count in enumerate(rounds):
            stream.send("spin", spin(count), request_id=str(i))
        for i, count in enumerate(rounds):
            result, error = stream.next()
            assert error is None
            assert result.get_response().id == str(i)
            assert result.as_numpy("OUTPUT__0").tolist() == [count]
            assert result.get_response().parameters["triton_final_response"].bool_param


def test_an_error_on_a_stream_ends_its_request_only(server):
    with Stream(server) as stream:
        stream.send("identity", [floats("x", 1)])
        stream.send("nothing", [floats("x", 1)])
        stream.send("identity", [floats("x", 2)])
        assert stream.next()[1] is None
        assert "unknown model 'nothing'" in str(stream.next()[1])
        result, error = stream.next()
        assert error is None and result.as_numpy("OUTPUT__0").tolist() == [2]


def test_large_tensors_pass_through_a_stream(server):
    sent = np.random.default_rng(2).standard_normal(2**20).astype(np.float32)
    with Stream(server) as stream:
        for _ in range(3):
            stream.send("identity", [tensor("x", sent)])
        for _ in range(3):
            np.testing.assert_array_equal(stream.next()[0].as_numpy("OUTPUT__0"), sent)


def test_a_stream_whose_client_goes_away_ends_its_runs(server):
    stream = Stream(server)
    for _ in range(3):
        stream.send("spin", spin(LONG))
    eventually(lambda: in_flight(server) == 3)
    stream.client.stop_stream(cancel_requests=True)
    eventually(lambda: in_flight(server) == 0)


# ---- statistics, metrics, health, reflection


def test_statistics_and_metrics_count_what_was_asked(hearthd):
    server = hearthd({"two": (models.scripted(models.Two()), TWO_CONFIG)})
    a = np.zeros((3, 3), dtype=np.float32)
    with server.client() as client:
        for _ in range(4):
            client.infer("two", [tensor("INPUT__0", a), tensor("INPUT__1", a)])
        bad(client, "two", tensor("INPUT__0", a[:, :2]))
        stats = client.get_inference_statistics("two").model_stats[0]
        assert (stats.name, stats.version) == ("two", "1")
        assert stats.inference_count == 12
        assert stats.execution_count == 4
        assert stats.inference_stats.success.count == 4
        assert stats.inference_stats.fail.count == 1
        parts = stats.inference_stats
        measured = parts.queue.ns + parts.compute_input.ns + parts.compute_infer.ns + parts.compute_output.ns
        assert 0 < measured <= parts.success.ns
        assert [batch.batch_size for batch in stats.batch_stats] == [3]
        assert len(client.get_inference_statistics().model_stats) == 1
        fails(grpc.StatusCode.NOT_FOUND, lambda: client.get_inference_statistics("nothing"))
    assert server.metric("nv_inference_request_success", model="two", version="1") == 4
    assert server.metric("nv_inference_count", model="two") == 12
    assert server.metric("nv_inference_exec_count", model="two") == 4
    assert server.metric("nv_inference_request_failure", model="two", reason="OTHER") == 1
    assert server.metric("nv_model_load_duration_secs", model="two") > 0
    assert server.metric("hearth_request_duration_seconds_count", model="two") == 4
    assert server.metric("hearth_process_resident_bytes") > 0


def test_http_answers_probes(server):
    for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/identity/ready", "/v2/models/two/versions/1/ready"):
        assert server.get(path)[0] == 200, path
    assert server.get("/v2/models/two/versions/2/ready")[0] == 503
    assert server.get("/v2/models/nothing/ready")[0] == 503
    assert server.get("/v2/nothing")[0] == 404


def test_health_is_checked_listed_and_watched(server, client, protocol):
    with server.channel() as channel:
        health = health_pb2_grpc.HealthStub(channel)
        serving = health_pb2.HealthCheckResponse.SERVING

        def check(service):
            return health.Check(health_pb2.HealthCheckRequest(service=service)).status

        for service in ("", "inference.GRPCInferenceService", "identity"):
            assert check(service) == serving
        fails(grpc.StatusCode.NOT_FOUND, lambda: check("nothing"))
        # Newer than the client's package: asked through our own file.
        answer = message_factory.GetMessageClass(protocol.FindMessageTypeByName("grpc.health.v1.HealthListResponse"))
        listed = answer.FromString(channel.unary_unary("/grpc.health.v1.Health/List")(b"")).statuses
        assert listed[""].status == serving and listed["two"].status == serving

        watch = health.Watch(health_pb2.HealthCheckRequest(service="dict"))
        assert next(watch).status == serving
        client.unload_model("dict")
        assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
        client.load_model("dict")
        assert next(watch).status == serving
        unknown = health.Watch(health_pb2.HealthCheckRequest(service="nothing"))
        assert next(unknown).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
        watch.cancel()
        unknown.cancel()


def test_reflection_gives_the_services_and_their_files(server):
    with server.channel() as channel:
        reflection = reflection_pb2_grpc.ServerReflectionStub(channel)

        def ask(**question):
            request = reflection_pb2.ServerReflectionRequest(**question)
            return next(iter(reflection.ServerReflectionInfo(iter([request]))))

        services = {s.name for s in ask(list_services="").list_services_response.service}
        assert {"inference.GRPCInferenceService", "grpc.health.v1.Health"} <= services
        answer = ask(file_containing_symbol="inference.GRPCInferenceService").file_descriptor_response
        files = [descriptor_pb2.FileDescriptorProto.FromString(f) for f in answer.file_descriptor_proto]
        methods = {m.name for file in files for service in file.service for m in service.method}
        assert {"ModelInfer", "ModelStreamInfer", "RepositoryModelLoad"} <= methods


# ---- the repository


def answer_of(client, model, version=""):
    return client.infer(model, [floats("x", 0)], model_version=version).as_numpy("OUTPUT__0").tolist()


def index_of(client):
    return {(m.name, m.version): (m.state, m.reason) for m in client.get_model_repository_index().models}


def test_models_are_loaded_swapped_and_unloaded_by_request(hearthd):
    server = hearthd({"m": models.constant(1)})
    with server.client() as client:
        assert answer_of(client, "m") == [1]
        put_model(server.repository, "m", models.constant(2), version=2)
        assert answer_of(client, "m") == [1]
        client.load_model("m")
        assert answer_of(client, "m") == [2]
        assert "only 2" in fails(grpc.StatusCode.NOT_FOUND, lambda: answer_of(client, "m", "1"))
        client.load_model("m", config=json.dumps({"version_policy": {"all": {}}}))
        assert answer_of(client, "m", "1") == [1] and answer_of(client, "m") == [2]

        put_model(server.repository, "new", models.constant(9))
        assert index_of(client)[("new", "")] == ("", "")
        client.load_model("new")
        assert answer_of(client, "new") == [9]
        client.unload_model("new")
        assert "unloaded" in fails(grpc.StatusCode.UNAVAILABLE, lambda: answer_of(client, "new"))
        eventually(lambda: index_of(client)[("new", "1")] == ("UNAVAILABLE", "unloaded"))
    with server.channel() as channel:
        index = service_pb2_grpc.GRPCInferenceServiceStub(channel).RepositoryIndex
        ready = index(service_pb2.RepositoryIndexRequest(ready=True)).models
        assert [(model.name, model.version, model.state) for model in ready] == [
            ("m", "1", "READY"),
            ("m", "2", "READY"),
        ]


def test_a_version_that_is_swapped_out_answers_what_it_has_begun(hearthd):
    server = hearthd({"spin": models.scripted(models.Spin())})
    with server.client() as client:
        done = queue.Queue()
        client.async_infer("spin", spin(8_000_000), callback=lambda result, error: done.put((result, error)))
        eventually(lambda: in_flight(server) == 1)
        put_model(server.repository, "spin", models.scripted(models.Identity()), version=2)
        client.load_model("spin")
        assert client.infer("spin", [floats("x", 5)]).as_numpy("OUTPUT__0").tolist() == [5]
        result, error = done.get(timeout=120)
        assert error is None and result.as_numpy("OUTPUT__0").tolist() == [8_000_000]


def test_reloads_lose_no_request(hearthd):
    server = hearthd({"m": models.constant(1)})
    put_model(server.repository, "m", models.constant(2), version=2)
    problems, asked, stop = [], [0], threading.Event()

    def ask():
        with server.client() as client:
            while not stop.is_set():
                try:
                    if answer_of(client, "m") not in ([1], [2]):
                        problems.append("a wrong answer")
                except InferenceServerException as error:
                    problems.append(error)
                asked[0] += 1

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    with server.client() as client:
        for i in range(10):
            client.load_model("m", config=json.dumps({"version_policy": {"specific": {"versions": [1 + i % 2]}}}))
    stop.set()
    for thread in threads:
        thread.join()
    assert problems == [] and asked[0] > 10


def test_a_model_that_cannot_be_loaded_says_why_and_harms_no_other(hearthd, tmp_path):
    put_model(tmp_path, "good", models.constant(1))
    (tmp_path / "bad/1").mkdir(parents=True)
    (tmp_path / "bad/1/model.pt").write_bytes(b"not an archive")
    put_model(tmp_path, "odd", models.constant(1), config="max_batchsize: 3")
    (tmp_path / "empty").mkdir()
    server = hearthd(tmp_path)
    with server.client() as client:
        assert server.ready["models_ready"] == 1
        assert client.is_server_ready()
        assert answer_of(client, "good") == [1]
        index = index_of(client)
        assert index[("bad", "1")][0] == "UNAVAILABLE" and index[("bad", "1")][1]
        assert "max_batchsize" in index[("odd", "")][1]
        assert "no version folder" in index[("empty", "")][1]
        fails(grpc.StatusCode.UNAVAILABLE, lambda: answer_of(client, "bad"))
        put_model(tmp_path, "bad", models.constant(4))
        client.load_model("bad")
        assert answer_of(client, "bad") == [4]
        for name in ("../good", "a/b", "", "."):
            fails(grpc.StatusCode.INVALID_ARGUMENT, lambda n=name: client.load_model(n))
        fails(grpc.StatusCode.NOT_FOUND, lambda: client.load_model("nowhere"))
        fails(grpc.StatusCode.NOT_FOUND, lambda: client.unload_model("nowhere"))


def test_strict_readiness_waits_for_every_model(hearthd, tmp_path):
    put_model(tmp_path, "good", models.constant(1))
    (tmp_path / "bad/1").mkdir(parents=True)
    (tmp_path / "bad/1/model.pt").write_bytes(b"not an archive")
    server = hearthd(tmp_path, "--strict-readiness")
    with server.client() as client:
        assert not client.is_server_ready()
        assert server.get("/v2/health/ready")[0] == 503
        put_model(tmp_path, "bad", models.constant(4))
        client.load_model("bad")
        assert client.is_server_ready()


# ---- the process


def test_sigterm_answers_what_is_in_flight_refuses_the_rest_and_exits_0(hearthd):
    server = hearthd({"spin": models.scripted(models.Spin())})
    client, late = server.client(), server.client()
    late.infer("spin", spin(1))  # connected before the drain
    done = queue.Queue()
    client.async_infer("spin", spin(80_000_000), callback=lambda result, error: done.put((result, error)))
    eventually(lambda: in_flight(server) == 1)
    with server.channel() as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        server.terminate()
        assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
    assert server.get("/v2/health/ready")[0] == 503
    fails(grpc.StatusCode.UNAVAILABLE, lambda: late.infer("spin", spin(1)))
    result, error = done.get(timeout=120)
    # float32 counts no further than 2^24.
    assert error is None and result.as_numpy("OUTPUT__0").tolist() == [2**24]
    assert server.wait() == 0


def test_a_stream_is_drained_too(hearthd):
    server = hearthd({"spin": models.scripted(models.Spin())})
    with Stream(server) as stream:
        for _ in range(2):
            stream.send("spin", spin(8_000_000))
        eventually(lambda: in_flight(server) == 2)
        server.terminate()
        for _ in range(2):
            result, error = stream.next()
            assert error is None and result.as_numpy("OUTPUT__0").tolist() == [8_000_000]
        assert "shutting down" in str(stream.next()[1])
    assert server.wait() == 0


def test_what_outlasts_the_drain_is_cancelled(hearthd):
    server = hearthd({"spin": models.scripted(models.Spin())}, "--drain-seconds", "0.2")
    done = queue.Queue()
    client = server.client()
    client.async_infer("spin", spin(LONG), callback=lambda result, error: done.put(error))
    eventually(lambda: in_flight(server) == 1)
    server.terminate()
    assert done.get(timeout=60) is not None
    assert server.wait() == 0


def test_a_second_sigterm_ends_it_at_once(hearthd):
    server = hearthd({"spin": models.scripted(models.Spin())})
    client = server.client()
    client.async_infer("spin", spin(LONG), callback=lambda result, error: None)
    eventually(lambda: in_flight(server) == 1)
    server.terminate()
    eventually(lambda: server.get("/v2/health/ready")[0] == 503)
    server.terminate()
    assert server.wait() == 143


def test_settings_come_from_a_file_too_and_lines_of_the_access_log_are_json(hearthd, tmp_path):
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"access_log": str(tmp_path / "access.log"), "threads": 1}))
    server = hearthd({"identity": models.scripted(models.Identity())}, "--config", settings)
    with server.client() as client:
        client.infer("identity", [floats("x", 1)], request_id="a")
        bad(client, "identity", floats("y", 1))
    assert server.stop() == 0
    lines = [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]
    assert [(line["model"], line["code"]) for line in lines] == [("identity", "OK"), ("identity", "INVALID_ARGUMENT")]
    assert lines[0]["id"] == "a" and lines[0]["request_bytes"] > 0 and lines[0]["response_bytes"] > 0

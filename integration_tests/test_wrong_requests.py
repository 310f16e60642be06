"""Every way in which a request may be wrong is told by an error that helps."""

import grpc
import numpy as np
import pytest

from integration_tests import server_models as models
from integration_tests.serving import bad, fails, floats, raw_request, tensor


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

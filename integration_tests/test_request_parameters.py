"""Parameters of requests, inputs and outputs: each is honoured or refused, a client's own are let through."""

import asyncio

import grpc
import pytest
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_aio
from tritonclient.grpc import service_pb2

from integration_tests.serving import LONG, Stream, fails, floats, spin

INVALID = grpc.StatusCode.INVALID_ARGUMENT


def request(**parameters):
    made = service_pb2.ModelInferRequest(model_name="identity")
    for name, (kind, value) in parameters.items():
        setattr(made.parameters[name], f"{kind}_param", value)
    made.inputs.add(name="x", datatype="UINT8", shape=[1])
    made.raw_input_contents.append(b"\x07")
    return made


# ---- The time that a request may take ----


def test_a_timeout_ends_the_request(client):
    message = fails(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: client.infer("spin", spin(LONG), timeout=200_000))
    assert message
    assert client.infer("spin", spin(1), timeout=60_000_000).as_numpy("OUTPUT__0").tolist() == [1]
    assert client.infer("spin", spin(1), timeout=0).as_numpy("OUTPUT__0").tolist() == [1]
    assert client.infer("spin", spin(1), timeout=2**63 - 1).as_numpy("OUTPUT__0").tolist() == [1]


def test_the_earlier_of_timeout_and_deadline_counts(client):
    deadline = grpc.StatusCode.DEADLINE_EXCEEDED
    fails(deadline, lambda: client.infer("spin", spin(LONG), timeout=60_000_000, client_timeout=0.3))
    fails(deadline, lambda: client.infer("spin", spin(LONG), timeout=200_000, client_timeout=60))


def test_a_timeout_on_a_stream_ends_its_request_alone(server):
    with Stream(server) as stream:
        stream.send("spin", spin(LONG), timeout=200_000)
        stream.send("spin", spin(1))
        _, error = stream.next()
        assert error is not None
        result, error = stream.next()
        assert error is None and result.as_numpy("OUTPUT__0").tolist() == [1]


def test_a_timeout_through_asyncio(server):
    async def ask():
        async with triton_aio.InferenceServerClient(server.address) as asking:
            await asking.infer("spin", spin(LONG), timeout=200_000)

    fails(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: asyncio.run(ask()))


# ---- What is refused, and what is let through ----

REFUSED = {
    "timeout": [("int64", -1), ("string", "1000"), ("double", 1.0), ("uint64", 2**64 - 1)],
    "priority": [("int64", -1), ("string", "high")],
    "sequence_id": [("int64", 1), ("uint64", 1), ("string", "s"), ("double", 1.0)],
    "sequence_start": [("bool", True)],
    "sequence_end": [("bool", True)],
    "binary_data_output": [("int64", 1)],
    "triton_enable_empty_final_response": [("string", "true")],
    "triton_final_response": [("bool", True)],
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_parameter_that_cannot_be_honoured_is_refused(stub, name):
    for kind, value in REFUSED[name]:
        message = fails(INVALID, lambda: stub.ModelInfer(request(**{name: (kind, value)})))
        assert f"the parameter '{name}'" in message


def test_what_asks_for_nothing_is_taken(stub, client):
    taken = {
        "timeout": ("uint64", 60_000_000),
        "priority": ("uint64", 7),
        "sequence_id": ("int64", 0),
        "sequence_start": ("bool", False),
        "sequence_end": ("bool", False),
        "binary_data_output": ("bool", True),
        "triton_enable_empty_final_response": ("bool", True),
        "content_type": ("string", "np"),
        "my own": ("double", 2.5),
    }
    assert stub.ModelInfer(request(**taken)).raw_output_contents[0] == b"\x07"
    own = client.infer("identity", [floats("x", 1)], parameters={"mine": "yes", "more": 3, "flag": True})
    assert own.as_numpy("OUTPUT__0").tolist() == [1]


def test_a_sequence_is_refused_by_a_model_that_has_none(client):
    message = fails(INVALID, lambda: client.infer("identity", [floats("x", 1)], sequence_id=7, sequence_start=True))
    assert "has no sequences of requests" in message


def test_the_last_answer_of_a_streams_request_is_marked_and_not_followed_by_an_empty_one(server):
    with Stream(server) as stream:
        for value in (1, 2):
            stream.send("identity", [floats("x", value)], enable_empty_final_response=True)
        for value in (1, 2):
            result, error = stream.next()
            assert error is None and result.as_numpy("OUTPUT__0").tolist() == [value]
            assert result.get_response().parameters["triton_final_response"].bool_param


def test_parameters_of_outputs(stub, client):
    asked = request()
    output = asked.outputs.add(name="OUTPUT__0")
    output.parameters["binary_data"].bool_param = True
    output.parameters["classification"].int64_param = 0
    assert stub.ModelInfer(asked).raw_output_contents[0] == b"\x07"
    output.parameters["colour"].string_param = "red"
    message = fails(INVALID, lambda: stub.ModelInfer(asked))
    assert message == "output 'OUTPUT__0': the parameter 'colour' is not known"
    del output.parameters["colour"]
    output.parameters["shared_memory_offset"].int64_param = 4
    assert "needs 'shared_memory_region'" in fails(INVALID, lambda: stub.ModelInfer(asked))
    del output.parameters["shared_memory_offset"]
    output.parameters["classification"].string_param = "3"
    assert "is no int64" in fails(INVALID, lambda: stub.ModelInfer(asked))
    twice = [triton.InferRequestedOutput("OUTPUT__0"), triton.InferRequestedOutput("OUTPUT__0", class_count=1)]
    message = fails(INVALID, lambda: client.infer("identity", [floats("x", 1)], outputs=twice))
    assert "asked for twice" in message


def test_parameters_of_inputs_that_are_a_clients_own(stub):
    asked = request()
    asked.inputs[0].parameters["content_type"].string_param = "np"
    assert stub.ModelInfer(asked).raw_output_contents[0] == b"\x07"

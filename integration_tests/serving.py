"""How the server's tests ask: numpy in, named arrays out, errors by their code; a stream; a model that runs for long."""

import queue

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

LONG = 2_000_000_000  # rounds of Spin: far longer than any test


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


def bad(client, model, *inputs):
    return fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: client.infer(model, list(inputs)))


def raw_request(datatype, shape, *contents):
    request = service_pb2.ModelInferRequest(model_name="identity")
    request.inputs.add(name="x", datatype=datatype, shape=shape)
    request.raw_input_contents.extend(contents)
    return request


def spin(rounds):
    return [floats("x", 0), tensor("rounds", np.array(rounds))]


def in_flight(server, model="spin"):
    return server.metric("hearth_in_flight_requests", model=model)


class Stream:
    """A tritonclient's stream, its answers in a queue."""

    def __init__(self, server):
        self.client = server.client()
        self.answers = queue.Queue()
        self.awaited = 0
        self.client.start_stream(lambda result, error: self.answers.put((result, error)))

    def send(self, model, inputs, **options):
        self.awaited += 1
        self.client.async_stream_infer(model, inputs, **options)

    def next(self):
        answer = self.answers.get(timeout=60)
        self.awaited -= 1
        return answer

    def __enter__(self):
        return self

    def __exit__(self, *error):
        # A stream that is cancelled leaves tritonclient's thread behind that waits for its requests.
        self.client.stop_stream(cancel_requests=self.awaited > 0)
        self.client.close()


def answer_of(client, model, version=""):
    return client.infer(model, [floats("x", 0)], model_version=version).as_numpy("OUTPUT__0").tolist()


def index_of(client):
    return {(m.name, m.version): (m.state, m.reason) for m in client.get_model_repository_index().models}

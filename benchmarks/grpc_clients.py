"""Clients of gRPC that ask as those of rest_clients.py do: each connection sends the same bytes again when it has its answer,
and reads nothing of that. They are made in processes of their own alone, as one that has used gRPC must not fork."""

import grpc
import numpy as np
from tritonclient.grpc import service_pb2

from benchmarks.rest_clients import DATATYPES, NUMPY_DTYPES

METHOD = "/inference.GRPCInferenceService/ModelInfer"
SECONDS = 120
# Messages of any size, and no connection that clients share.
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]


def request(model, arrays):
    """The bytes of an inference of these numpy arrays by name."""
    message = service_pb2.ModelInferRequest(model_name=model)
    for name, array in arrays.items():
        message.inputs.add(name=name, datatype=DATATYPES[str(array.dtype)], shape=array.shape)
        message.raw_input_contents.append(array.tobytes())
    return message.SerializeToString()


def outputs(_, body):
    """The arrays of an answer, each flat."""
    answer = service_pb2.ModelInferResponse.FromString(body)
    pairs = zip(answer.outputs, answer.raw_output_contents, strict=True)
    return [np.frombuffer(content, NUMPY_DTYPES[output.datatype]) for output, content in pairs]


class Connection:
    def __init__(self, port):
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=OPTIONS)
        # As the protocol's stub makes it, less reading and writing of messages.
        self._infer = self._channel.unary_unary(METHOD)
        grpc.channel_ready_future(self._channel).result(SECONDS)

    def ask(self, message):
        """(200, {}, the answer's bytes), or (the name of a status, {}, its words)."""
        try:
            return 200, {}, self._infer(message, timeout=SECONDS)
        except grpc.RpcError as error:
            return error.code().name, {}, error.details().encode()

    def close(self):
        self._channel.close()

"""A gRPC server as one writes it in Python around torch: grpcio and the protocol's stubs, raw tensor contents, the models of
python_server.py on the threads that gRPC calls on.

    python3 -m benchmarks.python_grpc_server ENGINE FOLDER MODEL... [--device cuda]

Prints a line of JSON with the port when all models are warm."""

import json

import grpc
import numpy as np
import torch
from tritonclient.grpc import service_pb2, service_pb2_grpc

from benchmarks.python_server import TORCH_DTYPES, started_models
from benchmarks.rest_clients import DATATYPES

OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Service(service_pb2_grpc.GRPCInferenceServiceServicer):
    def __init__(self, models):
        self._models = models

    def ModelInfer(self, request, context):
        tensors = self._models.run(request.model_name, read(request))
        return written(request.model_name, tensors)


def read(request):
    tensors = []
    for each, content in zip(request.inputs, request.raw_input_contents, strict=True):
        flat = torch.frombuffer(content, dtype=TORCH_DTYPES[each.datatype])
        tensors.append(flat.reshape(tuple(each.shape)))
    return tuple(tensors)


def written(name, tensors):
    answer = service_pb2.ModelInferResponse(model_name=name, model_version="1")
    for index, tensor in enumerate(tensors):
        array = np.ascontiguousarray(tensor.numpy())
        answer.outputs.add(name=f"OUTPUT__{index}", datatype=DATATYPES[str(array.dtype)], shape=array.shape)
        answer.raw_output_contents.append(array.tobytes())
    return answer


def main():
    models = started_models(__doc__)
    server = grpc.server(models.threads, options=OPTIONS)
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(Service(models), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(json.dumps({"grpc_port": port}), flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()

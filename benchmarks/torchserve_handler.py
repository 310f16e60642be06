"""TorchServe's handler for any model whose inputs and outputs are tensors with a batch: messages are python_server.py's."""

import pathlib

import torch

from benchmarks.python_server import read, written
from integration_tests.values import leaves

LENGTH = "Inference-Header-Content-Length"


class Handler:
    model = None

    def load(self, context):
        folder = pathlib.Path(context.system_properties["model_dir"])
        archive = torch.jit.load(folder / context.manifest["model"]["serializedFile"], map_location="cpu")
        self.model = torch.jit.freeze(archive.eval())

    def handle(self, rows, context):
        bodies = [row.get("body") or row.get("data") for row in rows]
        if not all(bodies):
            raise ValueError("no request")
        requests = [read(int(context.get_request_header(index, LENGTH)), body) for index, body in enumerate(bodies)]
        with torch.inference_mode():
            answers = [tensor for _, tensor in leaves(self.model(*(torch.cat(same) for same in zip(*requests))))]
        sizes = [request[0].shape[0] for request in requests]
        bodies = []
        for index, tensors in enumerate(zip(*(answer.split(sizes) for answer in answers))):
            message = written(context.manifest["model"]["modelName"], tensors)
            context.set_response_header(index, LENGTH, message.headers[LENGTH])
            bodies.append(message.body)
        return bodies


HANDLER = Handler()


def handle(rows, context):
    """What TorchServe calls: once without rows, to load."""
    if HANDLER.model is None:
        HANDLER.load(context)
    return HANDLER.handle(rows, context) if rows is not None else None

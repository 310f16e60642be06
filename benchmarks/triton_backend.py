"""A model of Triton's Python backend: a frozen TorchScript archive on the processors, as one writes it. Its configuration
names the archive and where torch is, for the backend's Python has packages of its own."""

import json
import os
import sys

import triton_python_backend_utils as backend


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        told = {name: value["string_value"] for name, value in config["parameters"].items()}
        sys.path.extend(told["packages"].split(os.pathsep))
        import torch

        self.torch = torch
        self.inputs = [tensor["name"] for tensor in config["input"]]
        self.outputs = [tensor["name"] for tensor in config["output"]]
        self.model = torch.jit.freeze(torch.jit.load(told["archive"], map_location="cpu").eval())

    def execute(self, requests):
        torch = self.torch
        given = [[self.tensor(request, name) for name in self.inputs] for request in requests]
        with torch.inference_mode():
            answer = self.model(*(torch.cat(same) for same in zip(*given)))
        answer = answer if isinstance(answer, (list, tuple)) else [answer]
        sizes = [tensors[0].shape[0] for tensors in given]
        return [
            backend.InferenceResponse(
                [backend.Tensor(name, part.contiguous().numpy()) for name, part in zip(self.outputs, parts)]
            )
            for parts in zip(*(tensor.split(sizes) for tensor in answer))
        ]

    def tensor(self, request, name):
        return self.torch.from_numpy(backend.get_input_tensor_by_name(request, name).as_numpy())

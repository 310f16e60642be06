"""A model of Triton's Python backend: a frozen TorchScript archive on the processors, as one writes it. Its configuration
names the archive and where torch is, for the backend's Python has packages of its own."""

import json
import os
import sys


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        told = {name: value["string_value"] for name, value in config["parameters"].items()}
        sys.path.extend(told["packages"].split(os.pathsep))
        # The one is where the configuration says, the other only within Triton.
        import torch
        import triton_python_backend_utils

        self.torch, self.backend = torch, triton_python_backend_utils
        self.inputs = [tensor["name"] for tensor in config["input"]]
        self.outputs = [tensor["name"] for tensor in config["output"]]
        self.model = torch.jit.freeze(torch.jit.load(told["archive"], map_location="cpu").eval())

    def execute(self, requests):
        given = [[self.tensor(request, name) for name in self.inputs] for request in requests]
        with self.torch.inference_mode():
            answer = self.model(*(self.torch.cat(same) for same in zip(*given)))
        answer = answer if isinstance(answer, (list, tuple)) else [answer]
        sizes = [tensors[0].shape[0] for tensors in given]
        return [self.response(parts) for parts in zip(*(tensor.split(sizes) for tensor in answer))]

    def tensor(self, request, name):
        return self.torch.from_numpy(self.backend.get_input_tensor_by_name(request, name).as_numpy())

    def response(self, tensors):
        arrays = [tensor.contiguous().numpy() for tensor in tensors]
        return self.backend.InferenceResponse([self.backend.Tensor(*pair) for pair in zip(self.outputs, arrays)])

"""The models that Triton and hearthd both serve: the same configurations, in TorchScript here, in Python there."""

import pathlib

import torch

from integration_tests.daemon import put_model

LABELS = ("cat", "dog", "horse", "hen")


class Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x * 2


class Thrice(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x * 3


class Both(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor):
        return a + b, a - b


class Kinds(torch.nn.Module):
    def forward(self, flags: torch.Tensor, counts: torch.Tensor, points: torch.Tensor):
        return flags, counts, points


class Scores(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x * 1


class Words(torch.nn.Module):
    def forward(self, words: list[str]):
        return words


class Same(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x


class Sums(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor | None = None):
        return a + b if b is not None else a


class Controls(torch.nn.Module):
    def forward(self, x: torch.Tensor, start: torch.Tensor, end: torch.Tensor, ready: torch.Tensor, id: torch.Tensor):
        return x, start, end, ready, id


class Fails(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if x.numel() > 0:
            raise ValueError("this model never answers")
        return x


TWICE = """max_batch_size: 0
input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]
version_policy { all {} }
"""
BOTH = """max_batch_size: 4
input [
  { name: "a" data_type: TYPE_FP32 dims: [ 2 ] },
  { name: "b" data_type: TYPE_FP32 dims: [ 2 ] }
]
output [
  { name: "sum" data_type: TYPE_FP32 dims: [ 2 ] },
  { name: "difference" data_type: TYPE_FP32 dims: [ 2 ] }
]
dynamic_batching {}
"""
KINDS = """max_batch_size: 0
input [
  { name: "flags" data_type: TYPE_BOOL dims: [ 3 ] },
  { name: "counts" data_type: TYPE_INT64 dims: [ 2, 2 ] },
  { name: "points" data_type: TYPE_FP64 dims: [ -1, 2 ] }
]
output [
  { name: "flags_out" data_type: TYPE_BOOL dims: [ 3 ] },
  { name: "counts_out" data_type: TYPE_INT64 dims: [ 2, 2 ] },
  { name: "points_out" data_type: TYPE_FP64 dims: [ -1, 2 ] }
]
"""
SCORES = """max_batch_size: 0
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "scores" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt" } ]
"""
WORDS = """max_batch_size: 0
input [ { name: "words" data_type: TYPE_STRING dims: [ -1 ] } ]
output [ { name: "words_out" data_type: TYPE_STRING dims: [ -1 ] } ]
"""
RESHAPED = """max_batch_size: 4
input [ { name: "x" data_type: TYPE_INT32 dims: [ 2, 3 ] reshape { shape: [ 6 ] } } ]
output [ { name: "y" data_type: TYPE_INT32 dims: [ 3, 2 ] reshape { shape: [ 6 ] } } ]
"""
SUMS = """max_batch_size: 0
input [
  { name: "a" data_type: TYPE_FP32 dims: [ -1 ] },
  { name: "b" data_type: TYPE_FP32 dims: [ -1 ] optional: true }
]
output [ { name: "sum" data_type: TYPE_FP32 dims: [ -1 ] } ]
"""
BYTES = """max_batch_size: 0
input [ { name: "x" data_type: TYPE_UINT8 dims: [ -1, -1 ] } ]
output [ { name: "y" data_type: TYPE_UINT8 dims: [ -1, -1 ] } ]
"""
HALVES = BYTES.replace("UINT8", "FP16")
CONTROLS = """max_batch_size: 2
input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [
  { name: "y" data_type: TYPE_FP32 dims: [ 1 ] },
  { name: "started" data_type: TYPE_FP32 dims: [ 1 ] },
  { name: "ended" data_type: TYPE_BOOL dims: [ 1 ] },
  { name: "was_ready" data_type: TYPE_INT32 dims: [ 1 ] },
  { name: "number" data_type: TYPE_INT64 dims: [ 1 ] }
]
sequence_batching {
  direct {}
  control_input [
    { name: "start" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] },
    { name: "end" control [ { kind: CONTROL_SEQUENCE_END bool_false_true: [ false, true ] } ] },
    { name: "ready" control [ { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } ] },
    { name: "id" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT64 } ] }
  ]
}
"""
CHAIN = """platform: "ensemble"
max_batch_size: 0
input [ { name: "in" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "out" data_type: TYPE_FP32 dims: [ -1 ] } ]
ensemble_scheduling { step [
  { model_name: "twice" model_version: 1 input_map { key: "x" value: "in" } output_map { key: "y" value: "middle" } },
  { model_name: "twice" model_version: -1 input_map { key: "x" value: "middle" } output_map { key: "y" value: "out" } }
] }
"""
# By name: the module of each version, the configuration without a platform, the expression of each version in Python.
MODELS = {
    "twice": ({1: Twice, 2: Thrice}, TWICE, {1: "x * 2", 2: "x * 3"}),
    "both": ({1: Both}, BOTH, {1: "a + b, a - b"}),
    "kinds": ({1: Kinds}, KINDS, {1: "flags, counts, points"}),
    "scores": ({1: Scores}, SCORES, {1: "x"}),
    "words": ({1: Words}, WORDS, {1: "words"}),
    "reshaped": ({1: Same}, RESHAPED, {1: "x"}),
    "sums": ({1: Sums}, SUMS, {1: "a if b is None else a + b"}),
    "bytes": ({1: Same}, BYTES, {1: "x"}),
    "halves": ({1: Same}, HALVES, {1: "x"}),
    "controls": ({1: Controls}, CONTROLS, {1: "x, start, end, ready, id"}),
    "fails": ({1: Fails}, TWICE.replace("version_policy { all {} }\n", ""), {1: "fail()"}),
}

PYTHON_MODEL = '''import json

import triton_python_backend_utils as pb_utils


def fail():
    raise ValueError("this model never answers")


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        fields = config["input"] + config.get("sequence_batching", {{}}).get("control_input", [])
        self.inputs = [field["name"] for field in fields]
        self.outputs = [field["name"] for field in config["output"]]

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        tensors = {{name: pb_utils.get_input_tensor_by_name(request, name) for name in self.inputs}}
        given = {{name: tensor and tensor.as_numpy() for name, tensor in tensors.items()}}
        values = eval("({expression},)", {{"fail": fail}}, given)
        return pb_utils.InferenceResponse([pb_utils.Tensor(*pair) for pair in zip(self.outputs, values)])
'''


def write(repository, in_python):
    """A repository for Triton's Python backend, or for hearthd."""
    for name, (versions, configuration, expressions) in MODELS.items():
        platform = 'backend: "python"\n' if in_python else 'platform: "pytorch_libtorch"\n'
        folder = pathlib.Path(repository) / name
        for version, module in versions.items():
            if in_python:
                (folder / str(version)).mkdir(parents=True)
                (folder / str(version) / "model.py").write_text(PYTHON_MODEL.format(expression=expressions[version]))
            else:
                put_model(repository, name, torch.jit.script(module().eval()), version)
        (folder / "config.pbtxt").write_text(platform + configuration)
        (folder / "labels.txt").write_text("\n".join(LABELS) + "\n")
    (pathlib.Path(repository) / "chain" / "1").mkdir(parents=True)
    (pathlib.Path(repository) / "chain" / "config.pbtxt").write_text(CHAIN)

"""Configurations, right ones and wrong ones, of a model that doubles a tensor: which of them a server loads."""

import pathlib

import torch

from integration_tests.daemon import put_model
from integration_tests.triton.models import PYTHON_MODEL, Twice

INPUT = 'input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]\n'
OUTPUT = 'output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]\n'
BOTH = INPUT + OUTPUT
BATCHED = "max_batch_size: 8\n" + BOTH
CONTROL = 'control_input [ { name: "start" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] } ]\n'


def with_input(text):
    return f"input [ {{ {text} }} ]\n{OUTPUT}"


def with_output(text):
    return f"{INPUT}output [ {{ {text} }} ]\n"


CONFIGURATIONS = {
    "as it should be": BOTH,
    "a batch": BATCHED,
    "a negative batch": "max_batch_size: -1\n" + BOTH,
    "its name": 'name: "its_name"\n' + BOTH,
    "another name": 'name: "other"\n' + BOTH,
    "no text of a configuration": "input [ {",
    "a field that is none": "colour: 3\n" + BOTH,
    "a field twice": "max_batch_size: 1\nmax_batch_size: 2\n" + BOTH,
    "an input without a name": with_input("data_type: TYPE_FP32 dims: [ 4 ]"),
    "an input without a datatype": with_input('name: "x" dims: [ 4 ]'),
    "an input of no datatype": with_input('name: "x" data_type: TYPE_INVALID dims: [ 4 ]'),
    "an input of a datatype that is none": with_input('name: "x" data_type: TYPE_FP33 dims: [ 4 ]'),
    "an input without dims": with_input('name: "x" data_type: TYPE_FP32'),
    "an input of size 0": with_input('name: "x" data_type: TYPE_FP32 dims: [ 0 ]'),
    "an input of size -2": with_input('name: "x" data_type: TYPE_FP32 dims: [ -2 ]'),
    "an input twice": 'input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]\n' + BOTH,
    "an output twice": BOTH + 'output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]\n',
    "an output without a datatype": with_output('name: "y" dims: [ 4 ]'),
    "an output without dims": with_output('name: "y" data_type: TYPE_FP32'),
    "a reshape": with_input('name: "x" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: [ 4 ] }'),
    "a reshape of another size": with_input('name: "x" data_type: TYPE_FP32 dims: [ 4 ] reshape { shape: [ 5 ] }'),
    "a reshape of an open size": with_input('name: "x" data_type: TYPE_FP32 dims: [ -1, 2 ] reshape { shape: [ -1, 2 ] }'),
    "a reshape to an open size": with_input('name: "x" data_type: TYPE_FP32 dims: [ 4 ] reshape { shape: [ -1 ] }'),
    "a reshape to two open sizes": with_input(
        'name: "x" data_type: TYPE_FP32 dims: [ -1, -1 ] reshape { shape: [ -1, -1 ] }'
    ),
    "labels": with_output('name: "y" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt"'),
    "labels that are not there": with_output('name: "y" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "no.txt"'),
    "dynamic batching": BATCHED + "dynamic_batching {}\n",
    "dynamic batching without batches": BOTH + "dynamic_batching {}\n",
    "preferred sizes": BATCHED + "dynamic_batching { preferred_batch_size: [ 2, 8 ] }\n",
    "a preferred size that is too large": BATCHED + "dynamic_batching { preferred_batch_size: [ 9 ] }\n",
    "a preferred size of 0": BATCHED + "dynamic_batching { preferred_batch_size: [ 0 ] }\n",
    "priorities": BATCHED + "dynamic_batching { priority_levels: 3 default_priority_level: 2 }\n",
    "priorities without a default": BATCHED + "dynamic_batching { priority_levels: 3 }\n",
    "a default that is no priority": BATCHED + "dynamic_batching { priority_levels: 3 default_priority_level: 4 }\n",
    "a policy of a priority that is none": BATCHED
    + "dynamic_batching { priority_levels: 1 default_priority_level: 1 priority_queue_policy { key: 2 value {} } }\n",
    "a bound of a queue": BATCHED + "dynamic_batching { default_queue_policy { max_queue_size: 3 } }\n",
    "ordering with priorities": BATCHED
    + "dynamic_batching { preserve_ordering: true priority_levels: 2 default_priority_level: 1 }\n",
    "two kinds of batching": BATCHED + "dynamic_batching {}\nsequence_batching { " + CONTROL + "}\n",
    "an instance": BOTH + "instance_group [ { kind: KIND_CPU count: 2 } ]\n",
    "a negative number of instances": BOTH + "instance_group [ { kind: KIND_CPU count: -1 } ]\n",
    "an instance on a GPU that is not there": BOTH + "instance_group [ { kind: KIND_GPU gpus: [ 7 ] } ]\n",
    "an instance on a CPU with a GPU": BOTH + "instance_group [ { kind: KIND_CPU gpus: [ 0 ] } ]\n",
    "the latest version": BOTH + "version_policy { latest { num_versions: 1 } }\n",
    "no latest version": BOTH + "version_policy { latest { num_versions: 0 } }\n",
    "a version": BOTH + "version_policy { specific { versions: [ 1 ] } }\n",
    "a version that is not there": BOTH + "version_policy { specific { versions: [ 3 ] } }\n",
    "a warm-up": BATCHED
    + 'model_warmup [ { name: "w" batch_size: 1 '
    + 'inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } } ]\n',
    "a warm-up of another input": BOTH
    + 'model_warmup [ { name: "w" inputs { key: "z" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } } ]\n',
    "a warm-up of a file that is not there": BOTH
    + 'model_warmup [ { name: "w" inputs '
    + '{ key: "x" value { data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "no" } } } ]\n',
    "a response cache that the server has not": BOTH + "response_cache { enable: true }\n",
    "a parameter": BOTH + 'parameters { key: "mine" value { string_value: "yes" } }\n',
    "no inputs": OUTPUT,
    "no outputs": INPUT,
    "nothing": "",
    "answers in pieces": BOTH + "model_transaction_policy { decoupled: true }\n",
    "an optional input": with_input('name: "x" data_type: TYPE_FP32 dims: [ 4 ] optional: true'),
    "an output of the batch": BATCHED
    + 'batch_output [ { target_name: "y" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "x" } ]\n',
}


def folder_of(name):
    return name.replace(" ", "_")


def write(repository, in_python):
    """A model for each."""
    archive = torch.jit.script(Twice().eval())
    for name, configuration in CONFIGURATIONS.items():
        platform = 'backend: "python"\n' if in_python else 'platform: "pytorch_libtorch"\n'
        folder = pathlib.Path(repository) / folder_of(name)
        if in_python:
            (folder / "1").mkdir(parents=True)
            (folder / "1" / "model.py").write_text(PYTHON_MODEL.format(expression="x * 2"))
        else:
            put_model(repository, folder.name, archive)
        (folder / "config.pbtxt").write_text(platform + configuration)
        (folder / "labels.txt").write_text("one\ntwo\n")

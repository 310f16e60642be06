"""What suites share that make archives: kept from one run to the next, in processes of their own, traced or scripted."""

import copy
import hashlib
import importlib
import json
import random
from pathlib import Path

import torch

from integration_tests.conformance import workers
from integration_tests.conformance.case import Case


def made(function, items, folder, timeout=600):
    """The Cases that `function` ("module:function") makes of each item, in the items' order. An item is a dict with "name"
    and whatever else the function needs, "folder" among it; it gives {"cases": fields of Cases, "unmade": reasons}. What
    it gave last time is taken from `folder` if its module's source and torch are the same."""
    folder.mkdir(parents=True, exist_ok=True)
    key = _key(function.partition(":")[0])
    kept, missing = {}, []
    for item in items:
        manifest = _manifest(folder, item["name"])
        if manifest.exists() and (content := json.loads(manifest.read_text()))["key"] == key:
            kept[item["name"]] = content
        else:
            missing.append({**item, "folder": str(folder / _file_name(item["name"]))})
    for item, answer in workers.each(function, missing, timeout):
        if isinstance(answer, workers.Died):
            answer = {"cases": [], "unmade": [f"{item['name']}: {answer}"]}
        kept[item["name"]] = {"key": key, **answer}
        _manifest(folder, item["name"]).write_text(json.dumps(kept[item["name"]]))
    for item in items:
        for fields in kept[item["name"]]["cases"]:
            yield Case.from_json(fields)


def nothing_made_of(folder, device):
    """The items of which no case could be made, where `folder` is that of a suite."""
    manifests = [path for name in (device, "whole", ".") for path in (folder / name).glob("*.json")]
    return sorted(path.stem for path in manifests if not json.loads(path.read_text())["cases"])


def folder_of(item):
    """The folder for an item's files, in the process that makes them."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random.seed(0)
    folder = Path(item["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def trace(function, args, kwargs):
    """`function` as torch.jit.trace sees it with these arguments, and the tensors among them, which become its own."""
    tensors = []
    shape = lift((args, kwargs), tensors)

    def call(*values):
        lowered_args, lowered_kwargs = lower(shape, values)
        return function(*lowered_args, **lowered_kwargs)

    with torch.no_grad():
        traced = torch.jit.trace(call, copied(tuple(tensors)), check_trace=False)
        traced(*copied(tensors))
    return traced, tensors


def save_inputs(inputs, path):
    """Writes arguments for torch.load(weights_only=True); raises if that does not read them."""
    tensors = []
    shape = lift(tuple(inputs), tensors)
    torch.save(lower(shape, [tensor.detach().cpu() for tensor in tensors]), path)
    torch.load(path, weights_only=True)


def copied(value):
    """A deep copy, with the memory that tensors share shared again."""
    tensors = []
    shape = lift(value, tensors)
    memo = {}
    return lower(shape, [_copied_tensor(tensor, memo) for tensor in tensors])


def _copied_tensor(tensor, memo):
    if tensor.layout != torch.strided:
        return tensor.clone()
    if tensor.is_conj():  # a deep copy would have it done
        return copy.deepcopy(tensor.conj(), memo).conj()
    return copy.deepcopy(tensor, memo)


class Place:
    """Where a tensor was."""

    def __init__(self, index):
        self.index = index


def lift(value, tensors):
    """`value` with a Place for each tensor, which goes to `tensors`."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return Place(len(tensors) - 1)
    if type(value) in (list, tuple):
        return type(value)(lift(element, tensors) for element in value)
    if isinstance(value, dict):
        return {key: lift(element, tensors) for key, element in value.items()}
    return value


def lower(shape, values):
    """The reverse, with other tensors."""
    if isinstance(shape, Place):
        return values[shape.index]
    if type(shape) in (list, tuple):
        return type(shape)(lower(element, values) for element in shape)
    if isinstance(shape, dict):
        return {key: lower(element, values) for key, element in shape.items()}
    return shape


def spread(count, limit):
    """Indices below `count`, all or `limit` of them spread evenly."""
    if count <= limit:
        return list(range(count))
    return sorted({round(i * (count - 1) / (limit - 1)) for i in range(limit)})


def line(error):
    return f"{type(error).__name__}: {str(error).strip()}"[:300]


def _file_name(name):
    return "".join(letter if letter.isalnum() or letter in "._-" else "." for letter in name)


def _manifest(folder, name):
    return folder / f"{_file_name(name)}.json"


def _key(module):
    sources = [Path(__file__), Path(importlib.import_module(module).__file__)]
    return hashlib.sha256(b"".join(s.read_bytes() for s in sources) + torch.__version__.encode()).hexdigest()[:16]

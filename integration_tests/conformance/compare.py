"""Two outcomes of one case, and where they differ: the result and the arguments as the call left them (values, types,
dtypes, shapes, strides, who shares whose memory), or what was raised."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from integration_tests.values import difference as value_difference
from integration_tests.values import leaves, unsigned_nan

ASPECTS = ("values", "strides", "aliasing", "arguments", "message")
# A call on a GPU moves its arguments and its result: what it shares and writes stays there.
NOT_SEEN_ON_A_GPU = ("strides", "aliasing", "arguments")


def seen_on(device, case):
    """The case, with what is not seen on this device left out of what is compared."""
    if device == "cpu":
        return case
    return replace(case, skip=tuple(dict.fromkeys((*case.skip, *NOT_SEEN_ON_A_GPU))))


@dataclass
class Outcome:
    kind: str  # "value", "raised": by the model; "refused": the arguments do not fit; "failed": anything else
    message: str = ""
    content: Any = None  # {"result", "args", "kwargs"} in plain form; without "result" where something was raised


def plain(value):
    """`value` with named tuples as tuples and objects as dicts of their attributes; tensors stay as they are."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, torch.dtype):
        return torch.ops.prim.dtype(torch.empty(0, dtype=value, device="meta"))  # an int to TorchScript
    if isinstance(value, (dict, torch._C.ScriptDict)):
        return {key: plain(element) for key, element in value.items()}
    if isinstance(value, (list, torch._C.ScriptList)):
        return [plain(element) for element in value]
    if isinstance(value, tuple):
        return tuple(plain(element) for element in value)
    if hasattr(value, "__dict__") and not isinstance(value, torch.dtype):
        return {name: plain(element) for name, element in vars(value).items()}
    return value


def difference(expected, got, skip=(), tolerance=None):
    """Where `got` is not what was `expected`, in words; None if it is. Nothing of `skip` is looked at."""
    if expected.kind != got.kind:
        return f"torch {_said(expected)}; hearth {_said(got)}"
    if expected.kind in ("refused", "failed"):
        return None
    messages = expected.message, got.message
    if expected.kind == "raised" and "message" not in skip and len({unsigned_nan(text) for text in messages}) > 1:
        return f"torch raised {expected.message!r}; hearth raised {got.message!r}"
    ours, theirs = _shown(expected.content, skip), _shown(got.content, skip)
    if "values" in skip:
        values = value_difference(_blank(ours), _blank(theirs), "")
    else:
        values = value_difference(ours, theirs, "", tolerance)
    if values:
        return values.removeprefix(".")
    found = _tensors(ours), _tensors(theirs)
    if "strides" not in skip:
        for (path, a), (_, b) in zip(*found):
            facts = _facts(a), _facts(b)
            if facts[0] != facts[1]:
                return f"{path}: expected {_text(facts[0], facts[1])}, got {_text(facts[1], facts[0])}"
    if "aliasing" not in skip:
        expected_owners, got_owners = (_owners(tensors) for tensors in found)
        for path, owner in expected_owners.items():
            if got_owners[path] != owner:
                return f"{path}: expected {_owner_text(owner)}, got {_owner_text(got_owners[path])}"
    return None


def is_of_size_alone(expected, got, skip=(), tolerance=None):
    """Whether what differs are numbers in the tensors of the result and nothing else: the arguments are as they were
    expected, and so are types, keys, dtypes, shapes, strides and who shares whose memory."""
    if expected.kind != "value" or difference(expected, got, (*skip, "values")) is not None:
        return False
    if "arguments" in skip:
        return True
    given = ({key: outcome.content.get(key) for key in ("args", "kwargs")} for outcome in (expected, got))
    return value_difference(*given, "", tolerance) is None


def _said(outcome):
    return "gave a value" if outcome.kind == "value" else f"{outcome.kind} ({outcome.message})"


def _shown(content, skip):
    if "arguments" in skip:
        return {"result": content["result"]} if "result" in content else {}
    # One order, whoever wrote it.
    return {key: content[key] for key in ("args", "kwargs", "result") if key in content}


def _blank(value):
    if isinstance(value, torch.Tensor):
        return torch.zeros(value.shape, dtype=value.dtype)
    if isinstance(value, dict):
        return {key: _blank(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_blank(element) for element in value)
    return value


def _tensors(content):
    return [(path, leaf) for path, leaf in leaves(content) if isinstance(leaf, torch.Tensor)]


def _facts(tensor):
    facts = {"requires_grad": tensor.requires_grad, "conjugated": tensor.is_conj(), "negated": tensor.is_neg()}
    if tensor.layout == torch.strided:
        facts |= {"strides": tensor.stride(), "offset": tensor.storage_offset()}
    elif tensor.layout == torch.sparse_coo:
        facts |= {"coalesced": tensor.is_coalesced()}
    return facts


def _text(facts, others):
    return ", ".join(f"{name} {fact}" for name, fact in facts.items() if others.get(name) != fact)


def _owners(tensors):
    """By path: the first path that is the same tensor, and the first one that shares its memory."""
    same, shared, owners = {}, {}, {}
    for path, tensor in tensors:
        if tensor.layout != torch.strided or tensor.is_meta:
            continue
        storage = tensor.untyped_storage()
        owners[path] = (
            same.setdefault(id(tensor), path),
            shared.setdefault(storage._cdata, path) if storage.nbytes() else path,
        )
    return owners


def _owner_text(owner):
    return f"the tensor of {owner[0]}, memory of {owner[1]}"

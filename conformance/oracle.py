"""What torch.jit does with a case, and whether hearth did the same. Runs in worker processes: see workers.py."""

import io
import os
import re
import warnings

import torch
from command_line import unescape
from oracle import message_of

from conformance.case import Case
from conformance.compare import Outcome, difference, plain
from conformance.making import copied

_TYPE = re.compile(
    r"(?P<sparse>Sparse)?(?P<device>CPU|CUDA)(?P<dtype>Byte|Char|Double|Float|Int|Long|Short|Half|BFloat16|Bool)Type"
)
_FAILED = "The following operation failed in the TorchScript interpreter."

torch.set_num_threads(1)
warnings.simplefilter("ignore")


def judge(item):
    """The verdict on {"case", "line": what hearth said, "output": the file it wrote, "device"}: {"verdict": "agree", "miss",
    or "torch" where torch.jit itself does not load the archive; "reason": what differs; "torch": what torch.jit did}."""
    case = Case.from_json(item["case"])
    try:
        function = _load(case, item["device"])
    except Exception as error:
        return {"verdict": "torch", "reason": f"torch.jit does not load it: {_line(error)}", "torch": "failed"}
    expected = _run(function, case, item["device"])
    got = hearth_outcome(item["line"], item["output"])
    try:
        if got.kind == "failed" and not _can_be_saved(expected.content):
            return {"verdict": "torch", "reason": "torch.save does not take torch.jit's own answer", "torch": expected.kind}
        found = difference(expected, got, case.skip, case.tolerance)
    finally:
        if os.path.exists(item["output"]):
            os.remove(item["output"])
    return {"verdict": "miss" if found else "agree", "reason": (found or "")[:2000], "torch": expected.kind}


def _load(case, device):
    if case.archive.endswith(".py"):
        with open(case.archive) as file:
            unit = torch.jit.CompilationUnit(file.read())
        return getattr(unit, case.method)
    module = torch.jit.load(case.archive, map_location=device)
    return getattr(module, case.method) if case.method else module


def _run(function, case, device):
    # Copied, since tensors from a file cannot be resized and those that a program makes can.
    content = copied(torch.load(case.inputs, weights_only=True, map_location=device))
    args, kwargs = content if isinstance(content, tuple) else (), {}
    if isinstance(content, dict):
        args, kwargs = tuple(content.get("args", ())), content.get("kwargs", {})
    shared = tuple(by_reference(arg) for arg in args), {name: by_reference(arg) for name, arg in kwargs.items()}
    outcome = call(function, *shared, case.seed)
    if outcome.kind == "refused":  # a reference's type is stricter than that of a Python list
        outcome = call(function, args, kwargs, case.seed)
    return outcome


def call(function, args, kwargs, seed):
    outcome = Outcome("value")
    result = {}
    torch.manual_seed(seed)
    try:
        with torch.no_grad():
            result = {"result": function(*args, **kwargs)}
    except Exception as error:
        text = str(error)
        outcome = Outcome("raised", message_of(text)) if text.startswith(_FAILED) else Outcome("refused", _line(error))
    outcome.content = _to_cpu(plain({"args": args, "kwargs": kwargs, **result}))
    return outcome


def by_reference(value):
    """Lists and dicts are copied on their way into TorchScript, unless they are TorchScript's own."""
    if isinstance(value, (list, dict)) and value:
        try:
            return torch.jit.script(value)
        except Exception:
            return value
    return value


def _to_cpu(value):
    if isinstance(value, torch.Tensor):
        return value.cpu()
    if isinstance(value, dict):
        return {key: _to_cpu(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_to_cpu(element) for element in value)
    return value


def hearth_outcome(line, output):
    try:
        content = torch.load(output, weights_only=True) if os.path.exists(output) else None
    except Exception as error:
        return Outcome("failed", f"{line}, and its file cannot be read: {_line(error)}")
    if line == "ok":
        return Outcome("value", content=content)
    kind, _, message = line.partition(" ")
    if kind == "raised":
        return Outcome("raised", as_python_says(unescape(message)), content)
    if kind == "bad":
        return Outcome("refused", unescape(message))
    return Outcome("failed", line)


def _can_be_saved(content):
    """Some operators give tensors that are broken: sparse ones whose parts do not fit."""
    file = io.BytesIO()
    try:
        torch.save(content, file)
        file.seek(0)
        torch.load(file, weights_only=True)
    except Exception:
        return False
    return True


def as_python_says(message):
    """torch's Python binding writes "CPUFloatType" as "torch.FloatTensor" in every message that passes through it."""
    return _TYPE.sub(
        lambda m: f"torch.{'cuda.' if m['device'] == 'CUDA' else ''}{'sparse.' if m['sparse'] else ''}{m['dtype']}Tensor",
        message,
    )


def _line(error):
    return f"{type(error).__name__}: {str(error).strip()}"[:1000]

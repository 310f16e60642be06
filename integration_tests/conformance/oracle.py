"""What torch.jit does with a case, and whether hearth did the same. Runs in worker processes: see workers.py."""

import functools
import hashlib
import importlib.util
import io
import os
import re
import sys
import warnings

import torch

from integration_tests.command_line import unescape
from integration_tests.conformance.case import Case
from integration_tests.conformance.compare import Outcome, difference, is_of_size_alone, plain
from integration_tests.conformance.hearth import LOST
from integration_tests.conformance.making import copied

_TYPE = re.compile(
    r"(?P<sparse>Sparse)?(?P<device>CPU|CUDA)(?P<dtype>Byte|Char|Double|Float|Int|Long|Short|Half|BFloat16|Bool)Type"
)
_FAILED = "The following operation failed in the TorchScript interpreter."
# The end of a traceback's place. The source lines around it are indented, or begin a def or a class; then come class and
# message.
_PLACE_ENDS = "<--- HERE"
_PLACE = re.compile(r', line (\d+)')
_CLASS = re.compile(r"^[A-Za-z_][\w.]*:", re.MULTILINE)

# As many as hearth has: some of LibTorch's quantised convolutions give other numbers on several threads than on one.
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
torch._C._jit_set_texpr_fuser_enabled(False)  # on a GPU: its kernels round otherwise, as they do not on a CPU
warnings.simplefilter("ignore")


def judge(item):
    """The verdict on {"case", "line": what hearth said, "output": the file it wrote, "device", perhaps "repeat": how often it
    was called, "tolerance" for a case that has none}: {"verdict": "agree"; "miss"; "accepts" where torch.jit refuses the archive and hearth runs it; or "torch"
    where torch.jit's own answer cannot be compared; "reason": what differs; "torch": what torch.jit did; "of_size" if the
    numbers of a miss differ and nothing else}."""
    case = Case.from_json(item["case"])
    if case.raises:
        expected = Outcome("raised", case.raises)
        got = hearth_outcome(item["line"], item["output"])
        same = (got.kind, got.message) == (expected.kind, expected.message)
        return _verdict(None if same else f"hearth: {item['line']}", "raised")
    try:
        expected = _expected(case, item["device"], item.get("repeat", 1))
    except _NotLoaded as error:
        return _verdict_on_refusal(str(error), item["line"])
    got = hearth_outcome(item["line"], item["output"])
    tolerance = case.tolerance or item.get("tolerance")
    try:
        if got.kind == "failed" and item["line"] == "ok" and not _can_be_saved(expected.content):
            return {"verdict": "torch", "reason": "torch.save does not take torch.jit's own answer", "torch": expected.kind}
        found = difference(expected, got, case.skip, tolerance)
        verdict = _verdict(found, expected.kind)
        if not found and expected.kind == "refused":
            verdict |= _other_words(expected.message, got.message)
        if found and is_of_size_alone(expected, got, case.skip, tolerance):
            verdict["of_size"] = True
        return verdict
    finally:
        if os.path.exists(item["output"]):
            os.remove(item["output"])


class _NotLoaded(Exception):
    pass


@functools.lru_cache(maxsize=1)  # a case may be judged many times in a row, once for each guard that failed
def _expected(case, device, repeat=1):
    try:
        function = _load(case, device)
    except Exception as error:
        raise _NotLoaded(f"{type(error).__name__}: {str(error).strip()}") from None
    return [_run(function, case, device) for _ in range(repeat)][-1]


def _verdict_on_refusal(theirs, line):
    """Where torch.jit refuses an archive or a source with the words `theirs`, so must hearth: with the same words, or with
    others at a line of the source that torch.jit names too, if it names any."""
    if line == "ok" or line.startswith("raised "):
        return {"verdict": "accepts", "reason": f"torch.jit refuses it: {theirs[:500]}", "torch": "failed"}
    if not line.startswith("bad "):
        return _verdict(f"torch.jit refuses it ({theirs[:500]}); hearth: {line}", "failed")
    ours = unescape(line.removeprefix("bad "))
    words = _other_words(theirs, ours)
    places = set(_PLACE.findall(theirs))
    if words and places and places.isdisjoint(_PLACE.findall(ours)):
        return _verdict(f"torch.jit refuses it: {_words(theirs)}; hearth refuses it: {_words(ours)}", "failed")
    return {**_verdict(None, "failed"), **words}


def _other_words(theirs, ours):
    """What is noted of a case that both refuse, each in words of its own."""
    return {} if _words(theirs) == _words(ours) else {"words": [_words(theirs)[:300], _words(ours)[:300]]}


def _words(message):
    """A refusal without its class, its place, the source around that, and how it is broken into lines."""
    message = _CLASS.sub("", _as_file(message), count=1)
    return " ".join(re.split(r'[\s;]File "', message)[0].replace(";", " ").split()).rstrip(":")


def _verdict(found, kind):
    return {"verdict": "miss" if found else "agree", "reason": (found or "")[:2000], "torch": kind}


def _load(case, device):
    if case.archive.endswith(".py"):
        return _script(case.archive, case.method)
    module = torch.jit.load(case.archive, map_location=device)
    return getattr(module, case.method) if case.method else module


@functools.cache  # a class that is scripted again is another one
def _script(path, function):
    return torch.jit.script(getattr(load_source(path), function))


@functools.cache
def load_source(path):
    """A file as a Python module whose source torch.jit.script finds."""
    name = "source_" + hashlib.sha256(str(path).encode()).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(function, case, device):
    # Copied, since tensors from a file cannot be resized and those that a program makes can.
    content = copied(torch.load(case.inputs, weights_only=True, map_location=device))
    args, kwargs = content if isinstance(content, tuple) else (), {}
    if isinstance(content, dict):
        args, kwargs = tuple(content.get("args", ())), content.get("kwargs", {})
    by_position, by_name = _types(function)
    by_position += [None] * (len(args) - len(by_position))
    shared = (
        tuple(by_reference(arg, wanted) for arg, wanted in zip(args, by_position)),
        {name: by_reference(arg, by_name.get(name)) for name, arg in kwargs.items()},
    )
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
        if LOST in text:
            sys.exit(text)  # another process has the GPU yet
        outcome = Outcome("raised", _as_file(message_of(text))) if text.startswith(_FAILED) else Outcome("refused", _line(error))
    outcome.content = _to_cpu(plain({"args": args, "kwargs": kwargs, **result}))
    return outcome


def message_of(traceback):
    """The class and message at a traceback's end, without LibTorch's own C++ stack."""
    tail = traceback[traceback.rfind(_PLACE_ENDS) + 1 :]
    tail = tail[_CLASS.search(tail).start() :]
    return re.split(r"\nException raised from ", tail)[0].strip()


def _as_file(message):
    """A message with classes named as in a file of their own, and types without addresses."""
    message = re.sub(r" \(of Python compilation unit at: [^)]*\)", "", message)
    message = re.sub(r"__torch__\.source_[0-9a-f]{16}\.", "__torch__.", message)
    return re.sub(r"\bsource_[0-9a-f]{16}\.", "__main__.", message)


def by_reference(value, wanted=None):
    """Lists and dicts are copied on their way into TorchScript, unless they are TorchScript's own, which must be of the very
    type that is wanted: nothing looks at their elements."""
    if isinstance(value, (list, dict)) and value:
        inferred = torch._C._jit_try_infer_type(value)
        if inferred.success() and (wanted is None or inferred.type().annotation_str == wanted):
            return torch.jit.script(value)
    return value


def _types(function):
    """What the arguments are declared as, by position and by name; nothing if that is not known."""
    try:
        schema = function.schema if hasattr(function, "schema") else function.forward.schema
    except Exception:
        return [], {}
    types = {argument.name: argument.type.annotation_str for argument in schema.arguments}
    return [text for name, text in types.items() if name != "self"], types


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
        return Outcome("raised", _as_file(as_python_says(unescape(message))), content)
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

"""What torch.jit itself answers for an archive, or what it raises."""

import re
from dataclasses import dataclass
from typing import Any, Optional

import torch

from values import plain

_FAILED = "The following operation failed in the TorchScript interpreter."
# The end of a traceback's place. The source lines around it are indented, or begin a def or a class; then come class and
# message.
_HERE = "<--- HERE"
_CLASS = re.compile(r"^[A-Za-z_][\w.]*:", re.MULTILINE)


@dataclass
class Answer:
    value: Any = None
    raised: Optional[str] = None  # class and message, where the model raised
    refused: Optional[str] = None  # torch's words, where the arguments do not fit


def ask(archive, inputs, method=""):
    """Calls a module fresh from `archive` with what `inputs` (a torch.save file) holds."""
    module = torch.jit.load(archive)
    content = torch.load(inputs, weights_only=True)
    args, kwargs = content if isinstance(content, tuple) else (), {}
    if isinstance(content, dict):
        args, kwargs = content.get("args", ()), content.get("kwargs", {})
    try:
        function = getattr(module, method) if method else module
        with torch.no_grad():
            return Answer(value=plain(function(*args, **kwargs)))
    except (torch.jit.Error, RuntimeError, IndexError, ValueError, TypeError, AttributeError, NotImplementedError) as error:
        text = str(error)
        if text.startswith(_FAILED):
            return Answer(raised=message_of(text))
        return Answer(refused=text)


def message_of(traceback):
    """The class and message at a traceback's end, without LibTorch's own C++ stack."""
    tail = traceback[traceback.rfind(_HERE) + 1 :]
    tail = tail[_CLASS.search(tail).start() :]
    tail = re.split(r"\nException raised from ", tail)[0].strip()
    return re.sub(r" \(of Python compilation unit at: 0x[0-9a-f]+\)", "", tail)

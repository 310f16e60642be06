"""What archives are made from: a name, and a function that gives a module and its arguments."""

import contextlib
from dataclasses import dataclass
from typing import Callable, Optional

import torch

from integration_tests.networks import awaken, image, settle
from integration_tests.values import to

_traced_on = "cpu"


@dataclass(frozen=True)
class Recipe:
    name: str
    group: str
    make: Callable[[], tuple]  # gives (ScriptModule, tuple of arguments)
    tolerance: Optional[tuple] = None  # (relative, absolute), where the dtype's own does not do
    at_least: int = 2  # the fewest numbers an answer must have to prove anything


def scripted(model, *inputs):
    return torch.jit.script(_settled(model, inputs)), inputs


def traced(model, *inputs, strict=True):
    """`strict`: False for a model that answers with a dict."""
    return trace(_settled(model, inputs), *inputs, strict=strict)


def trace(model, *inputs, strict=True):
    model, inputs = model.to(_traced_on), to(_traced_on, inputs)
    with torch.no_grad():
        return torch.jit.trace(model, inputs, check_trace=False, strict=strict), inputs


@contextlib.contextmanager
def tracing_on(device):
    """Within it models are traced on this device, which is what their code then names. Their weights are the same."""
    global _traced_on
    before, _traced_on = _traced_on, device
    try:
        yield
    finally:
        _traced_on = before


def exposing_buffers(module):
    """`module` (a ScriptModule) in training mode inside another that answers (answer, [every buffer after the call]): what
    a call writes into the model becomes part of what is compared."""

    def reach(path):
        expression = "self.model"
        for part in path.split("."):
            expression = f'getattr({expression}, "{part}")'
        return expression

    class Exposing(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = module

    outer = torch.jit.script(Exposing())
    buffers = ", ".join(reach(name) for name, _ in module.named_buffers())
    outer.define(f"def forward(self, x):\n    y = self.model.forward(x)\n    return y, [{buffers}]\n")
    return outer.train()


def _settled(model, inputs):
    """Its batch norms see eight pictures where the model is asked about one or two: statistics of the four numbers that
    a deep channel of one small picture has make so much of rounding that no two answers agree."""
    if len(inputs) == 1 and inputs[0].dim() == 4:
        inputs = (image(8, *inputs[0].shape[1:]),)
    return settle(awaken(model), *inputs)

"""Attributes, submodules and buffers that setattr named with Python's keywords, those of them that TorchScript's own
lexer does not reserve."""

import torch
import torch.nn as nn

NAMES = ["async", "except", "finally", "from", "lambda", "nonlocal", "try", "yield", "match", "case", "print"]


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        for i, name in enumerate(NAMES):
            self.register_buffer(name, torch.full((2,), float(i)))
        setattr(self, "await", nn.Linear(2, 2))
        setattr(self, "0", nn.Tanh())

    def forward(self, x):
        for name in NAMES:
            x = x + getattr(self, name)
        return getattr(self, "0")(getattr(self, "await")(x))


def make():
    torch.manual_seed(0)
    return torch.jit.trace(Program(), torch.ones(2))


calls = [(torch.tensor([0.25, -30.0]),)]

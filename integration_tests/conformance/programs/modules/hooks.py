"""Hooks of the module itself and of its children."""

from typing import Tuple

import torch
import torch.nn as nn


def pre(self, args: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
    return (args[0] + 1,)


def post(self, args: Tuple[torch.Tensor], out: torch.Tensor) -> torch.Tensor:
    return out * 10


class Child(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 5


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = Child()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.child(x)


def make():
    m = Program()
    m.register_forward_pre_hook(pre)
    m.register_forward_hook(post)
    m.child.register_forward_pre_hook(pre)
    m.child.register_forward_hook(post)
    return torch.jit.script(m)


calls = [(torch.zeros(2),), {"args": (torch.zeros(2),), "method": "forward"}]

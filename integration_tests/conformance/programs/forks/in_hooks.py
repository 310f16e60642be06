"""Hooks and pre-hooks that fork and wait, of the module itself and of a child."""

from typing import Tuple

import torch
import torch.nn as nn


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def pre(self, args: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
    future = torch.jit.fork(doubled, args[0])
    return (torch.jit.wait(future) + 1,)


def post(self, args: Tuple[torch.Tensor], out: torch.Tensor) -> torch.Tensor:
    future = torch.jit.fork(doubled, out)
    return torch.jit.wait(future) + args[0]


class Child(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 5


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = Child()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inside = torch.jit.fork(self.child, x)
        return self.child(x) + torch.jit.wait(inside)


def make():
    m = Program()
    m.register_forward_pre_hook(pre)
    m.register_forward_hook(post)
    m.child.register_forward_pre_hook(pre)
    m.child.register_forward_hook(post)
    return torch.jit.script(m)


calls = [(torch.arange(3.0),), {"args": (torch.arange(3.0),), "method": "forward"}]

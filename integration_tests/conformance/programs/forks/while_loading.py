"""__setstate__ forks and waits while the archive loads."""

from typing import Tuple

import torch
import torch.nn as nn


def scaled(x: torch.Tensor, k: int) -> torch.Tensor:
    return x * k


def forks_again(x: torch.Tensor) -> torch.Tensor:
    return torch.jit.wait(torch.jit.fork(scaled, x, 3)) + torch.jit.wait(torch.jit.fork(scaled, x, 4))


class Child(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.arange(3.0)

    @torch.jit.export
    def __getstate__(self):
        return (self.w, self.training)

    @torch.jit.export
    def __setstate__(self, state: Tuple[torch.Tensor, bool]):
        future = torch.jit.fork(forks_again, state[0])
        self.training = state[1]
        self.w = torch.jit.wait(future)

    def forward(self) -> torch.Tensor:
        return self.w


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Child()
        self.b = Child()

    def forward(self):
        return self.a(), self.b()


calls = [()]

"""Forks with keywords, of methods and of submodules."""

import torch
import torch.nn as nn


class Inner(nn.Module):
    def forward(self, x: torch.Tensor, k: int = 2) -> torch.Tensor:
        return x * k


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def helper(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def forward(self, x: torch.Tensor):
        a = torch.jit.fork(self.inner, x, k=5)
        b = torch.jit.fork(self.helper, x)
        c = torch.jit.fork(self.inner, x)
        return torch.jit.wait(a), torch.jit.wait(b), torch.jit.wait(c)


calls = [(torch.ones(2),)]

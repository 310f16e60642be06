"""A ModuleList indexed by a variable, behind an interface."""

import torch
import torch.nn as nn


@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Add(nn.Module):
    def __init__(self, k: float):
        super().__init__()
        self.k = k

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.k


class Mul(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 3


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList([Add(1.0), Mul(), Add(5.0)])

    def forward(self, x: torch.Tensor, i: int):
        m: Step = self.l[i]
        return m.forward(x)


calls = [(torch.ones(2), 0), (torch.ones(2), 1), (torch.ones(2), -1), (torch.ones(2), 3)]

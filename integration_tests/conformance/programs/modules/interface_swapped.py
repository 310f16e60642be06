"""A submodule behind an interface."""

import torch
import torch.nn as nn


@torch.jit.interface
class Act(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class A(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class Program(nn.Module):
    act: Act

    def __init__(self):
        super().__init__()
        self.act = A()

    def forward(self, x: torch.Tensor):
        return self.act.forward(x)


calls = [(torch.ones(2),)]

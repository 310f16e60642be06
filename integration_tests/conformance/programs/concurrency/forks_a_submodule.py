"""Forks a submodule."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x):
        f = torch.jit.fork(self.a, x)
        g = torch.jit.fork(self.b, x)
        return torch.jit.wait(f) + torch.jit.wait(g)


calls = [(torch.ones(4),)]

"""A frozen module with a branch on what became constant."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
        self.l = nn.Linear(2, 2)

    def forward(self, x):
        if self.k > 2:
            return self.l(x)
        return x


def make():
    return torch.jit.freeze(torch.jit.script(Program().eval()))


calls = [(torch.ones(1, 2),)]

"""training is an attribute that code reads."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = nn.Dropout(0.5)

    def forward(self, x):
        if self.training:
            return x + 100, self.training
        return self.d(x), self.training


calls = [(torch.ones(4),)]


def make():
    return torch.jit.script(Program().eval())

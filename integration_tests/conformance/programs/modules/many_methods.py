"""Many methods."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.other(x) + self._private(x)

    @torch.jit.export
    def other(self, x):
        return self.linear(x)

    def _private(self, x):
        return x * 3

    @property
    def width(self) -> int:
        return self.linear.weight.shape[0]


calls = [
    (torch.ones(2),),
    {"args": (torch.ones(2),), "method": "other"},
    {"args": (torch.ones(2),), "method": "missing"},
]

"""Sequential called, indexed, sliced."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Sequential(nn.ReLU(), nn.Sigmoid(), nn.Tanh())

    def forward(self, x):
        return self.s(x), self.s[0](x), len(self.s[1:]), len(self.s)


calls = [(torch.tensor([-1.0, 2.0]),)]

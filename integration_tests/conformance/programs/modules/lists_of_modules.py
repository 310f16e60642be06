"""ModuleList walked, indexed and sliced."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.Identity()])

    def forward(self, x):
        for m in self.l:
            x = m(x)
        for i, shifted in enumerate(self.l):
            x = shifted(x) + i
        for scaled, k in zip(self.l, (1, 2, 3)):
            x = scaled(x) * k
        return self.l[0](x), self.l[-1](x), len(self.l), [each(x) for each in self.l]


calls = [(torch.tensor([-1.0, 2.0]),)]

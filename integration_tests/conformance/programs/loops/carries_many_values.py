"""Carries many values."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        a, b, c = 0, 1, 1.5
        name = "s"
        x = torch.ones(2)
        for i in range(n):
            a, b = b, a + b
            c = c * 2 - a
            name = name + str(a)
            x = x + b
        return a, b, c, name, x


calls = [(5,), (1,)]

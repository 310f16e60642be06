"""Number in tensor arithmetic."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: float, n: int):
        x = torch.arange(3)
        return x + a, x * n, a - x, x / n, x**n, n * x.float() - a, x == n, x < a


calls = [(3.7, 2), (-0.0, 5)]

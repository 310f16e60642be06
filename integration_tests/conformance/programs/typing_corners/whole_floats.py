"""Whole floats."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: float):
        return x * 1e16, x + 3.0, 1e17, 0.1, 1e-7, -0.0, 100000.0


calls = [(1e10,), (123456789012.0,)]

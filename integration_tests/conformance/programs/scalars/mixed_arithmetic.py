"""Mixed arithmetic."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: int, b: float):
        return a + b, b - a, a * b, a / b, a // b, a % b, a**b, a < b, max(a, 4), min(b, 1.0), max(b, float(a))


calls = [(3, 2.5), (-3, 0.5)]

"""Float arithmetic."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: float, b: float):
        return a + b, a - b, a * b, a / b, a // b, a % b, -a, abs(a), a**2.0, a < b, a == b


calls = [(7.5, 2.0), (-7.5, 2.0), (7.5, -0.5), (1e300, 1e300), (0.1, 0.3)]

"""Integer arithmetic."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: int, b: int):
        return a + b, a - b, a * b, a // b, a % b, a / b, divmod(a, b), -a, abs(a), a**2, a & b, a | b, a ^ b


calls = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (2**62, 5)]

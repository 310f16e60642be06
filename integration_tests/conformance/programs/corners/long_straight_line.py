"""Long straight line."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        x = torch.ones(2)
        a, b, c, d, e, f, g, h = n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
        y = x * a + b - c * d + e * f - g + h
        z = [a, b, c, d, e, f, g, h, a + b, b + c, c + d, d + e, e + f, f + g, g + h]
        return y, z, sum(z), [v * 2 for v in z]


calls = [(5,)]

"""Sum of range."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> int:
        total = 0
        for i in range(n):
            total += i
        return total


calls = [(0,), (1,), (10,), (-3,)]

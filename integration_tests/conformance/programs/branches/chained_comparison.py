"""Chained comparison."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        return 0 < n < 10, 1 <= n <= 5 != 3


calls = [(5,), (0,), (15,)]

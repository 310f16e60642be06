"""Asserts."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> int:
        assert n > 0, "n must be positive, got " + str(n)
        return n


calls = [(1,), (-1,)]

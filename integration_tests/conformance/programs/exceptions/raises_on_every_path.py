"""Raises on every path."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> int:
        if n > 0:
            raise ValueError("positive")
        else:
            raise ValueError("negative")


calls = [(5,), (-1,)]

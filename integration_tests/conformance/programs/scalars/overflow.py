"""Overflow."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: int):
        return a + a, a * 3, -a, a - 1


calls = [(2**62,), (-(2**63),)]

"""Shifts."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: int, n: int):
        return a << n, a >> n


calls = [(3, 2), (-8, 70), (1, 62)]

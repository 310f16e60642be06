"""Rounding."""

import math

import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: float):
        return round(x), math.floor(x), math.ceil(x), int(x)


calls = [(2.5,), (3.5,), (-2.5,), (2.4999,), (1e10,)]

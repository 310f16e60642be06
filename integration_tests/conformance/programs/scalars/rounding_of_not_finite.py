"""Rounding of not finite."""

import math

import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: float):
        return math.floor(x)


calls = [(float("nan"),), (float("inf"),)]

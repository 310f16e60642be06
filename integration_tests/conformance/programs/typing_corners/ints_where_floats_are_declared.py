"""Ints where floats are declared."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, xs: List[float]) -> float:
        return sum(xs)


calls = [([1, 2],), ([1.5, 2],)]

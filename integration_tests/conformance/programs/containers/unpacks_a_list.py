"""Unpacks a list."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, values: List[int]):
        a, b, c = values
        return a + b * c


calls = [([1, 2, 3],), ([1, 2],), ([1, 2, 3, 4],)]

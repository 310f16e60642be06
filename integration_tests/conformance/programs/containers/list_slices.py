"""List slices."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, v: List[int], a: int, b: int):
        return v[a:b], v[a:], v[:b], v[::2], v[:], v[a:b:2], v + v[:1], v * 2


calls = [([0, 1, 2, 3, 4, 5], 2, 5), ([0, 1, 2], -2, 100), ([0, 1, 2], 2, 1)]

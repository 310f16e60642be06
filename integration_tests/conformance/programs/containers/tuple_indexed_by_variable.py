"""Tuple indexed by variable."""

from typing import Tuple

import torch.nn as nn


class Program(nn.Module):
    def forward(self, t: Tuple[int, int, int], i: int) -> int:
        return t[i]


calls = [((1, 2, 3), 1), ((1, 2, 3), -1), ((1, 2, 3), 3)]

"""List index."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, values: List[int], i: int) -> int:
        return values[i]


calls = [([3, 1, 2], 1), ([], 0), ([1], -1), ([1], 1)]

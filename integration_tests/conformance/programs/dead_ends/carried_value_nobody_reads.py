"""Carried value nobody reads."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: List[int]):
        total = 0
        for _ in range(2):
            if a[7] > 3:
                total += 1
        return 1


calls = [([1, 2],), ([1] * 8,)]

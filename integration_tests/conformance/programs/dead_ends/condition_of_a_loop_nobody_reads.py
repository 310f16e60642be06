"""Condition of a loop nobody reads."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: List[int]):
        i = 0
        while i < 3 and a[7] > 3:
            i += 1
        return 1


calls = [([1, 2],), ([1] * 8,)]

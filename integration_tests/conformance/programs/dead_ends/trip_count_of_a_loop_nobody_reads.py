"""Trip count of a loop nobody reads."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: List[int]):
        total = 0
        for _ in range(a[7]):
            total += 1
        return 1


calls = [([1, 2],), ([1] * 8,)]

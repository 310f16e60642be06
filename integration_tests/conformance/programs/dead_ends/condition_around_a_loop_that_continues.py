"""Condition around a loop that continues."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: List[int], again: bool):
        if a[7] > 3:
            for _ in range(2):
                if again:
                    continue
        return 1


calls = [([1, 2], True), ([1] * 8, True), ([1, 2], False)]

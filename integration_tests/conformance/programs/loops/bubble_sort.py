"""Bubble sort."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, values: List[int]) -> List[int]:
        n = len(values)
        for i in range(n):
            swapped = False
            for j in range(n - i - 1):
                if values[j] > values[j + 1]:
                    values[j], values[j + 1] = values[j + 1], values[j]
                    swapped = True
            if not swapped:
                break
        return values


calls = [([3, 1, 2],), ([],), ([5, 4, 3, 2, 1, 0],)]

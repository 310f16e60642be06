"""Deletes and assigns in lists."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, v: List[int]) -> List[int]:
        del v[0]
        v[-1] = 40
        v[0] += 5
        return v


calls = [([1, 2, 3, 4],)]

"""Membership tests."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, values: List[int], n: int):
        return n in values, n not in values, "b" in "abc", "z" in {"z": 1}, 1 in {2: 3}


calls = [([1, 2, 3], 2), ([1, 2, 3], 5)]

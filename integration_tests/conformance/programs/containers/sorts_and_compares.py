"""Sorts and compares."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: List[int], b: List[float], c: List[str]):
        d = sorted(a)
        b.sort(reverse=True)
        e = sorted(c)
        a.sort()
        return a, b, c, d, e, a == d, c == e, a != d


calls = [([3, 1, 2], [2.5, -1.0], ["b", "a"])]

"""Ints that wrap around, in what looks as if it could be simplified."""

from typing import Tuple

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int, m: int) -> Tuple[int, int, int, int, bool, bool, bool, int, int]:
        k = n - m
        halves = (n * 2) // 2, (n * 6) % 3, (n * 2 + 5) // 2, (k * 3) // 3
        compared = n + 1 > n, k + 1 >= k, n * 2 == m * 2
        return halves[0], halves[1], halves[2], halves[3], compared[0], compared[1], compared[2], sum([n]), sum([n, m])


calls = [(5, 2), (2**63 - 1, 5), (2**62, -3), (-(2**63), 1), (2**62, -(2**62)), (2**38 + 9, 2**31)]

"""Nested loops carry optional."""

from typing import Optional, Tuple

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        best: Optional[int] = None
        where: Optional[Tuple[int, int]] = None
        for i in range(n):
            for j in range(n):
                score = (i * 7 + j * 3) % 5
                if best is None or score > best:
                    best = score
                    where = (i, j)
        return best, where


calls = [(4,), (0,)]

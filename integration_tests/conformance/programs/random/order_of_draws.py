"""Draws in loops and branches happen in order."""

from typing import List

import torch


def f(n: int):
    out: List[torch.Tensor] = []
    for i in range(n):
        if i % 2 == 0:
            out.append(torch.rand(2))
        else:
            torch.randn(1)
    return out, torch.rand(1)


calls = [{"args": (4,), "seed": 5}, {"args": (0,), "seed": 5}]

"""Loops over the rows of a tensor."""

from typing import List

import torch


def f(x: torch.Tensor):
    out: List[torch.Tensor] = []
    for row in x:
        out.append(row * 2)
    for i, row in enumerate(x):
        out.append(row + i)
    return out


calls = [(torch.arange(6.0).reshape(3, 2),), (torch.zeros(0, 2),), (torch.ones(3),)]

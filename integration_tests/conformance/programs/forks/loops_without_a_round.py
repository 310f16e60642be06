"""Forks that leave a loop with a tuple, and whose loops may have no round in which something would fail."""

from typing import List, Tuple

import torch
import torch.nn as nn


def first_above(x: torch.Tensor, limit: int) -> Tuple[torch.Tensor, int]:
    i = 0
    while i < 3:
        if i >= limit:
            return (x * i, i)
        i += 1
    return (x, -1)


def always_leaves(x: torch.Tensor) -> Tuple[torch.Tensor]:
    n = 0
    while n < 3 and True:
        return (x + 1,)
    return (x.permute(1, 0),)


def shares(total: int, parts: int) -> List[int]:
    found: List[int] = []
    for i in range(parts):
        found.append(total // parts + i)
    return found


class Program(nn.Module):
    def forward(self, x: torch.Tensor, n: int) -> Tuple[torch.Tensor, int, torch.Tensor, List[int]]:
        first = torch.jit.fork(first_above, x, n)
        second = torch.jit.fork(always_leaves, x)
        third = torch.jit.fork(shares, 7, n)
        a, at = torch.jit.wait(first)
        (b,) = torch.jit.wait(second)
        return a, at, b, torch.jit.wait(third)


calls = [(torch.ones(2, 2), 0), (torch.ones(2, 2), 2), (torch.ones(2, 2), 7)]

"""Awaitables run at the first wait, once."""

from typing import List

import torch
import torch.nn as nn


def g(l: List[int]) -> int:
    l.append(1)
    return len(l)


class Program(nn.Module):
    def forward(self, n: int):
        l: List[int] = []
        a = torch.jit._awaitable(g, l)
        before = len(l)
        x = 0
        if n > 0:
            x = torch.jit._awaitable_wait(a) + torch.jit._awaitable_wait(a)
        return before, x, l


calls = [(1,), (0,)]

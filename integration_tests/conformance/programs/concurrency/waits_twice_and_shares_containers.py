"""Waits twice and shares containers."""

from typing import Dict

import torch
import torch.nn as nn


def fill(d: Dict[str, int], n: int) -> int:
    for i in range(n):
        d[str(i)] = i
    return len(d)


class Program(nn.Module):
    def forward(self, n: int):
        shared: Dict[str, int] = {}
        f = torch.jit.fork(fill, shared, n)
        first = torch.jit.wait(f)
        second = torch.jit.wait(f)
        return first, second, shared


calls = [(2,)]

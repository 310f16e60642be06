"""Forks give their values at wait, in any order."""

from typing import List

import torch


def g(n: int) -> int:
    s = 0
    for i in range(n):
        s += i
    return s


def f(n: int):
    futures = [torch.jit.fork(g, i) for i in range(n)]
    out: List[int] = []
    for fut in futures:
        out.append(torch.jit.wait(fut))
    return out


calls = {"f": [(5,), (0,), (100,)]}

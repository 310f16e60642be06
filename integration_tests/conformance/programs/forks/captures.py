"""A fork captures values at that point; containers are shared."""

from typing import List

import torch


def g(l: List[int], n: int) -> int:
    l.append(n)
    return len(l)


def f():
    l: List[int] = []
    n = 5
    a = torch.jit.fork(g, l, n)
    n = 100
    r = torch.jit.wait(a)
    return r, l, n


calls = {"f": [()]}

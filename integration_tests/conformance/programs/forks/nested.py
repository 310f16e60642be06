"""Forks in forks."""

import torch


def h(n: int) -> int:
    return n * 2


def g(n: int) -> int:
    a = torch.jit.fork(h, n)
    b = torch.jit.fork(h, n + 1)
    return torch.jit.wait(a) + torch.jit.wait(b)


def f(n: int):
    a = torch.jit.fork(g, n)
    b = torch.jit.fork(g, n * 10)
    return torch.jit.wait(b) - torch.jit.wait(a)


calls = {"f": [(1,), (7,)]}

"""A fork's exception comes at its wait."""

import torch


def g(n: int) -> int:
    if n > 0:
        raise ValueError("in the fork")
    return n


def f(n: int, wait: bool):
    a = torch.jit.fork(g, n)
    if wait:
        return torch.jit.wait(a)
    return -1


calls = {"f": [(0, True), (1, True), (1, False)]}

"""Futures in lists, tuples, dicts and as arguments."""

from typing import List

import torch


def g(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def collect(l: List[torch.jit.Future[torch.Tensor]]) -> torch.Tensor:
    s = torch.zeros(2)
    for fut in l:
        s = s + fut.wait()
    return s


def f(x: torch.Tensor):
    a = torch.jit.fork(g, x)
    d = {"a": a}
    t = (a, torch.jit.fork(g, x * 2))
    return collect([a, t[1]]), d["a"].wait(), t[0].wait()


calls = {"f": [(torch.ones(2),)]}

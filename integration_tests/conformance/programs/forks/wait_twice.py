"""A future may be waited for more than once."""

import torch


def g(x: torch.Tensor) -> torch.Tensor:
    return x.add_(1)


def f(x: torch.Tensor):
    a = torch.jit.fork(g, x)
    p = torch.jit.wait(a)
    q = torch.jit.wait(a)
    return p, q, p is q


calls = {"f": [(torch.ones(2),)]}

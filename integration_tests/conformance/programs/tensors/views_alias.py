"""Views share memory with the argument."""

import torch


def f(x: torch.Tensor):
    a = x[0]
    b = x.t()
    c = x.view(-1)
    d = x.expand(2, 2, 3)
    e = x.clone()
    a.add_(10)
    c[5] = -1
    return a, b, c, d, e, x


calls = [(torch.arange(6.0).reshape(2, 3),)]

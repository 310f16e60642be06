"""A generator of one's own."""

import torch


def f(n: int):
    g = torch.Generator(device="cpu")
    g.manual_seed(n)
    a = torch.rand(2, generator=g)
    b = torch.rand(2, generator=g)
    return a, b


calls = [(3,), (4,)]

"""A generator seeded by its method, in a loop, beside the process's own."""

from typing import List

import torch


def f(n: int):
    out: List[torch.Tensor] = []
    for i in range(n):
        g = torch.Generator(device="cpu")
        g.manual_seed(i)
        out.append(torch.randperm(4, generator=g))
        out.append(torch.randn(2))
    return out


calls = [{"args": (3,), "seed": 2}, {"args": (0,), "seed": 2}]

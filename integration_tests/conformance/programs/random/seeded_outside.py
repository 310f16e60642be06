"""Random numbers after a seed from outside."""

import torch


def f(x: torch.Tensor):
    return (
        torch.rand_like(x),
        torch.bernoulli(x),
        torch.normal(0.0, 1.0, [3]),
        torch.multinomial(x, 2),
        torch.randn_like(x),
    )


calls = [{"args": (torch.full([4], 0.5),), "seed": 3}, {"args": (torch.full([4], 0.25),), "seed": 4}]

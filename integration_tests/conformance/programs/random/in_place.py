"""Operators that fill with random numbers."""

import torch


def f(x: torch.Tensor):
    a = x.clone().uniform_(0, 2)
    b = x.clone().normal_(1, 3)
    c = x.clone().bernoulli_(0.3)
    d = x.clone().exponential_(2)
    e = x.clone().random_(0, 10)
    g = x.clone().geometric_(0.4)
    return a, b, c, d, e, g


calls = [{"args": (torch.zeros(4),), "seed": 7}]

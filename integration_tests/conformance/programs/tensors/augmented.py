"""Augmented assignments change the tensor itself."""

import torch


def f(x: torch.Tensor, y: torch.Tensor):
    a = x
    x += y
    x *= 2
    x -= 1
    x /= 4
    x **= 2
    return a, x, a is x


calls = [(torch.ones(3), torch.arange(3.0)), (torch.ones(3, dtype=torch.float64), torch.ones(3))]

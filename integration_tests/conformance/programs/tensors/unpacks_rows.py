"""A tensor unpacked into its rows."""

import torch


def f(x: torch.Tensor):
    a, b = x
    return a + b


calls = [(torch.ones(2, 2),), (torch.ones(3, 2),)]

"""An augmented assignment whose result the tensor cannot hold."""

import torch


def f(x: torch.Tensor):
    x += 1.5
    return x


def g(x: torch.Tensor):
    x /= 2
    return x


calls = {"f": [(torch.ones(2, dtype=torch.int64),)], "g": [(torch.ones(2, dtype=torch.int64),)]}

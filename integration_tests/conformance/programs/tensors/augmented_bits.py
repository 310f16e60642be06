"""Augmented bit operators of tensors."""

import torch


def f(x: torch.Tensor):
    a = x
    x |= 4
    x &= 7
    x ^= 1
    x <<= 1
    x >>= 1
    x %= 3
    x //= 2
    return a, x


calls = [(torch.tensor([1, 2, 9]),)]

"""Bit operators of tensors."""

import torch


def f(x: torch.Tensor, y: torch.Tensor):
    return x & y, x | y, x ^ y, ~x, x << 1, x >> 1, x & 3


calls = [(torch.tensor([12, 10]), torch.tensor([10, 3]))]

"""Indices that are lists, bools and None among others."""

import torch


def f(x: torch.Tensor, n: int):
    return x[[0, 2], 1:], x[:, [1, 0]], x[None, n], x[n, None, 1:3], x[[True, False, True]], x[n:, None]


calls = [(torch.arange(12.0).reshape(3, 4), 1)]

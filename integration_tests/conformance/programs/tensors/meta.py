"""Tensors without data."""

import torch


def f(n: int):
    x = torch.empty(n, 3, device="meta")
    y = x @ x.t()
    return y.shape, y.device.type, x.is_meta


calls = [(2,)]

"""Whole floats from 1e10 on print as ints in an archive."""

import torch


def f(x: torch.Tensor):
    return x * 1e10, x + 1e16


calls = [(torch.tensor([1, 2]),), (torch.tensor([1.0, 2.0]),)]

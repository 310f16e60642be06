"""A number on the left of // and %."""

import torch


def f(x: torch.Tensor, n: int):
    return n // x, n % x


calls = [(torch.tensor([2.0, 3.0]), 7)]

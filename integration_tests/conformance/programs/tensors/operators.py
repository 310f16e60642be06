"""Infix operators between tensors and numbers, on either side."""

import torch


def f(x: torch.Tensor, n: int, r: float):
    return (
        x + n,
        n + x,
        x - r,
        r - x,
        x * n,
        n * x,
        x / n,
        r / x,
        x // n,
        x % n,
        x**n,
        r**x,
        -x,
        x @ x,
        x == n,
        n != x,
        x < r,
        r < x,
    )


calls = [(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 2, 0.5)]

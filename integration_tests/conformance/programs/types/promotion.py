"""Type promotion between tensors and numbers."""

import torch


def f(x: torch.Tensor, y: torch.Tensor, a: int, b: float, c: bool):
    return x + y, x + a, x + b, x * c, x / a, x // a, x**b, x == y


calls = [
    (torch.ones(2, dtype=torch.int32), torch.ones(2, dtype=torch.int64), 2, 1.5, True),
    (torch.ones(2, dtype=torch.uint8), torch.ones(2), 300, 0.5, False),
]

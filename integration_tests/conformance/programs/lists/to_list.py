"""tolist of every depth."""

from typing import List

import torch


def f(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor):
    a: List[float] = x.tolist()
    b: List[List[int]] = y.tolist()
    c: bool = z.tolist()
    return a, b, c


calls = [
    (torch.tensor([1.5, 2.0], dtype=torch.float64), torch.tensor([[1], [2]]), torch.tensor(True)),
    (torch.zeros(0, dtype=torch.float64), torch.zeros(0, 2, dtype=torch.int64), torch.tensor(False)),
]

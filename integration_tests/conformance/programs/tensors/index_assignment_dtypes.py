"""Assigned values take the tensor's dtype."""

import torch


def f(x: torch.Tensor):
    x[0] = 2.9
    x[1] = True
    x[2] = torch.tensor(7.9)
    return x


calls = [
    (torch.zeros(3, dtype=torch.int64),),
    (torch.zeros(3, dtype=torch.uint8),),
    (torch.zeros(3, dtype=torch.bool),),
]

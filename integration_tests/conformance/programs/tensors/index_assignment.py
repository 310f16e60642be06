"""Assigning to indices of every kind."""

import torch


def f(x: torch.Tensor, i: torch.Tensor):
    x[0] = 1.5
    x[1, 2] = 7
    x[:, 0] = torch.tensor([10.0, 20.0, 30.0])
    x[i] = -1
    x[x > 15] = 0
    x[..., -1] += 100
    x[1:3, 1] *= 2
    x[None, 0] = 3
    return x


calls = [(torch.arange(12.0).reshape(3, 4), torch.tensor([2]))]

"""Assigning to an index that tensors and slices share."""

import torch


def f(x: torch.Tensor, i: torch.Tensor, m: torch.Tensor):
    x[i, 0] = 5.0
    x[:, i] = -1
    x[0, m] += 10
    x[1:, i] *= 2
    x[m[:3]] -= 0.5
    x[i, i] = torch.tensor([7.0, 8.0])
    return x


calls = [(torch.arange(12.0).reshape(3, 4), torch.tensor([2, 0]), torch.tensor([True, False, True, False]))]

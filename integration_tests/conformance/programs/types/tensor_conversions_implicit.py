"""Tensors where numbers are wanted."""

import torch


def f(x: torch.Tensor, n: torch.Tensor):
    return torch.zeros(int(n)), x.sum(dim=int(n) - 2), float(n) + 1, bool(n), x[n - 2]


def g(x: torch.Tensor, n: torch.Tensor):
    return torch.arange(n)


def h(n: torch.Tensor):
    return int(n)


calls = {
    "f": [(torch.ones(2, 2), torch.tensor(2))],
    "g": [(torch.ones(1), torch.tensor(3)), (torch.ones(1), torch.tensor([1, 2]))],
    "h": [(torch.tensor(2.7),), (torch.tensor([3]),), (torch.tensor([1, 2]),), (torch.tensor(True),)],
}

"""Errors of operators."""

import torch


def f(x: torch.Tensor, y: torch.Tensor):
    return x @ y


def g(x: torch.Tensor):
    return x.view(3, 5)


def h(x: torch.Tensor):
    return torch.cat([x, x.unsqueeze(0)])


def i(x: torch.Tensor):
    return x[7]


def j(x: torch.Tensor):
    return x.sum(5)


calls = {
    "f": [(torch.ones(2, 3), torch.ones(2, 3))],
    "g": [(torch.ones(4),)],
    "h": [(torch.ones(2),)],
    "i": [(torch.ones(2),), (torch.tensor(1),)],
    "j": [(torch.ones(2),)],
}

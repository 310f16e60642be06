"""Constructors with sizes as arguments and as lists."""

import torch


def f(n: int):
    return (
        torch.zeros(n, 2),
        torch.ones([n]),
        torch.full([2], 1.5),
        torch.full([2], True),
        torch.full((n,), 3),
        torch.arange(n),
        torch.arange(0, 1, 0.25),
        torch.eye(n),
        torch.linspace(0, 1, n),
        torch.empty(0),
        torch.zeros(()),
        torch.tensor(3.5),
        torch.tensor([]),
        torch.zeros(2, dtype=torch.bool),
    )


calls = [(3,), (1,)]

"""A tensor of many elements is no condition."""

import torch


def f(x: torch.Tensor):
    if x:
        return 1
    return 0


calls = [(torch.ones(2),), (torch.zeros(0),), (torch.ones(1),)]

"""int, float, bool and str of tensors."""

import torch


def f(x: torch.Tensor):
    return int(x), float(x), bool(x)


calls = [(torch.tensor(2.7),), (torch.tensor(0),), (torch.tensor([5]),), (torch.ones(2),), (torch.zeros(0),)]

"""A tensor's number, of any kind."""

import torch


def f(x: torch.Tensor):
    return x.item()


calls = [(torch.tensor(1),), (torch.tensor(1.5),), (torch.tensor(True),), (torch.tensor(1 + 2j),), (torch.ones(2),)]

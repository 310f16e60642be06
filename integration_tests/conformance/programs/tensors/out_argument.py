"""out= writes into what it is given."""

import torch


def f(x: torch.Tensor, y: torch.Tensor):
    z = torch.add(x, 1, out=y)
    return z, y, z is y


calls = [(torch.ones(2), torch.zeros(2)), (torch.ones(3), torch.zeros(0))]

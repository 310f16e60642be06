"""Functions of complex numbers through torch."""

import torch


def f(a: complex):
    return torch.tensor(a).exp(), torch.tensor([a]).angle(), torch.tensor(a).conj()


calls = [(1 + 2j,)]

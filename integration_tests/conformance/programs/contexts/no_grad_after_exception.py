"""An exception inside of no_grad gives the grad mode back."""

import torch


def g(n: int):
    with torch.no_grad():
        if n > 0:
            raise ValueError("inside")
    return torch.is_grad_enabled()


def f(n: int):
    return g(n)


calls = {"f": [(0,), (1,)]}

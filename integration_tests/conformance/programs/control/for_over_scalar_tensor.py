"""A tensor without dimensions cannot be walked over."""

import torch


def f(x: torch.Tensor):
    n = 0
    for row in x:
        n += 1
    return n


calls = [(torch.tensor(1),)]

"""autocast reaches into functions that are called inside."""

import torch


def g(x: torch.Tensor):
    return x @ x


def f(x: torch.Tensor):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = g(x)
    return y, g(x)


calls = {"f": [(torch.ones(2, 2),)]}

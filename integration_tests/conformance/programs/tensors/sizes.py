"""Sizes as lists, their arithmetic and unpacking."""

import torch


def f(x: torch.Tensor):
    b, c = x.shape
    s = x.size()
    return (
        b * c,
        s[0] + s[-1],
        x.size(1),
        len(x),
        x.shape[1:],
        list(s),
        x.view(c, b).shape,
        x.reshape(-1).size(0),
        x.stride(),
        x.numel(),
        x.dim(),
        s == [2, 3],
    )


calls = [(torch.arange(6.0).reshape(2, 3),)]

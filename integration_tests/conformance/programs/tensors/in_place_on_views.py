"""Writes through chains of views."""

import torch


def f(x: torch.Tensor):
    y = x.view(3, 2).t()
    y[0].zero_()
    y.diagonal().fill_(9)
    z = x.narrow(0, 4, 2)
    z.copy_(torch.tensor([7.0, 8.0]))
    w = x.unfold(0, 2, 2)
    w[1, 0] = -5
    return x, y, w


calls = [(torch.arange(6.0),)]

"""A dtype as an argument and in a list."""

import torch


def f(x: torch.Tensor, d: torch.dtype):
    l = [torch.float32, d]
    return x.to(d), x.type(l[0])


calls = [(torch.ones(1), torch.int32), (torch.ones(1), torch.float64)]

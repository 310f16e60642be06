"""One int where a list of ints is wanted."""

import torch


def f(x: torch.Tensor):
    return torch.max_pool2d(x, 2), torch.max_pool2d(x, [2, 1]), torch.max_pool2d(x, (1, 2), stride=1)


calls = [(torch.arange(16.0).reshape(1, 1, 4, 4),)]

"""A tensor or a number."""

from typing import Union

import torch


def f(x: Union[torch.Tensor, float]):
    if isinstance(x, float):
        return torch.tensor(x)
    return x * 2


calls = [(2.5,), (torch.ones(2),)]

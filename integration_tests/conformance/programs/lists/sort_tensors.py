"""A list of tensors sorted by value."""

from typing import List

import torch


def f(l: List[torch.Tensor]):
    l.sort()
    return l


calls = [([torch.tensor(3), torch.tensor(1), torch.tensor(2)],)]

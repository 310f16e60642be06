"""What was changed before an exception stays changed."""

from typing import List

import torch


def f(l: List[int], x: torch.Tensor):
    l.append(1)
    x.add_(1)
    if len(l) > 0:
        raise ValueError("after")
    return l


calls = [([], torch.zeros(2))]

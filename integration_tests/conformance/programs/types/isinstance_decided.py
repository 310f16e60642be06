"""isinstance that the types decide."""

from typing import List

import torch


def f(x: int, y: float, z: List[int], t: torch.Tensor):
    return (
        isinstance(x, int),
        isinstance(x, float),
        isinstance(y, (int, float)),
        isinstance(z, list),
        isinstance(t, torch.Tensor),
        isinstance(x, bool),
    )


calls = [(1, 1.5, [1], torch.ones(1))]

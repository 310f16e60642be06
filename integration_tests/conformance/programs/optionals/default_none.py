"""Optional arguments with None for a default."""

from typing import Optional

import torch


def f(x: int, y: Optional[int] = None, z: Optional[torch.Tensor] = None):
    r = x if y is None else x + y
    return (r, z)


calls = [(1,), (1, 2), (1, None, torch.ones(1)), {"args": (1,), "kwargs": {"z": torch.zeros(1)}}]

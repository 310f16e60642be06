"""Empty lists with their types declared."""

from typing import List, Optional, Tuple

import torch


def f():
    a: List[int] = []
    b = torch.jit.annotate(List[str], [])
    c: List[Tuple[int, float]] = []
    d: List[Optional[int]] = []
    a.append(1)
    b.append("x")
    c.append((1, 2.0))
    d.append(None)
    return a, b, c, d


calls = [()]

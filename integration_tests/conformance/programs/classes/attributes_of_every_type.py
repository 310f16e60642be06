"""Attributes with declared and inferred types."""

from typing import Dict, List, Optional

import torch


class Holder:
    a: Optional[int]
    b: Dict[str, float]

    def __init__(self, x: torch.Tensor):
        self.a = None
        self.b = {}
        self.x = x
        self.t = (1, "s")
        self.l: List[Optional[int]] = [None]
        self.o: Optional[torch.Tensor] = None


def f(x: torch.Tensor):
    h = Holder(x)
    h.a = 3
    h.b["k"] = 1.5
    h.l.append(h.a)
    h.o = h.x + 1
    return h.a, h.b, h.t, h.l, h.o


calls = [(torch.ones(2),)]

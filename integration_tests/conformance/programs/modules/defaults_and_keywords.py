"""Defaults and keywords."""

from typing import Optional

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: int, b: int = 10, c: str = "c", d: Optional[torch.Tensor] = None):
        return a + b, c, d


calls = [
    (1,),
    {"args": (1,), "kwargs": {"b": 5}},
    {"kwargs": {"a": 2, "b": 3, "c": "x"}},
    (1, 2, "y", None),
    {"kwargs": {"b": 1}},
    {"args": (1,), "kwargs": {"d": torch.ones(1)}},
    {"args": (1,), "kwargs": {"e": 1}},
]

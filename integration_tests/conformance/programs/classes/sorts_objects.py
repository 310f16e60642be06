"""Sorts objects."""

from typing import List

import torch
import torch.nn as nn


@torch.jit.script
class Vector:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y

    def __lt__(self, other: "Vector") -> bool:
        return self.x * self.x + self.y * self.y < other.x * other.x + other.y * other.y


class Program(nn.Module):
    def forward(self, xs: List[float]) -> List[float]:
        vectors = [Vector(x, 1.0) for x in xs]
        vectors.sort()
        return [v.x for v in vectors]


calls = [([3.0, 1.0, 2.0],)]

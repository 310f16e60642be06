"""Named tuple inside."""

from typing import NamedTuple, Optional

import torch
import torch.nn as nn


class Point(NamedTuple):
    x: torch.Tensor
    y: int = 3
    name: Optional[str] = None


class Program(nn.Module):
    def forward(self, x: torch.Tensor):
        a = Point(x)
        b = Point(x=x + 1, y=7)
        x1, y1, name = a
        points = [a, b]
        return a.y + b.y, b.x, a[0], points[1].name, {"a": a}, y1


calls = [(torch.ones(2),)]

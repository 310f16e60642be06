"""Returns a named tuple."""

from typing import NamedTuple, Optional

import torch
import torch.nn as nn


class Point(NamedTuple):
    x: torch.Tensor
    y: int = 3
    name: Optional[str] = None


class Program(nn.Module):
    def forward(self, x: torch.Tensor) -> Point:
        return Point(x, x.numel(), "p")


calls = [(torch.ones(2),), (torch.zeros(0),)]

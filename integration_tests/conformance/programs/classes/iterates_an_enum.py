"""Iterates an enum."""

from enum import Enum
from typing import List, Tuple

import torch.nn as nn


class Color(Enum):
    RED = 1
    GREEN = 2


class Program(nn.Module):
    def forward(self) -> Tuple[int, List[str]]:
        total = 0
        names: List[str] = []
        for color in Color:
            total += color.value
            names.append(color.name)
        return total, names


calls = [()]

"""Takes a named tuple."""

from typing import List, NamedTuple, Tuple

import torch
import torch.nn as nn


class Box(NamedTuple):
    a: int
    b: List[torch.Tensor]


class Program(nn.Module):
    def forward(self, box: Tuple[int, List[torch.Tensor]]) -> Box:
        return Box(box[0] + 1, box[1] + [torch.zeros(1)])


calls = [((1, [torch.ones(1)]),), ((2, []),)]

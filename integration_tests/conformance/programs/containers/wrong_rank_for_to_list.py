"""Wrong rank for to list."""

from typing import List

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: torch.Tensor):
        rows: List[int] = x.tolist()
        return rows


calls = [(torch.arange(6).reshape(2, 3),)]

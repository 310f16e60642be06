"""Tensor to lists."""

from typing import List

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: torch.Tensor):
        rows: List[List[int]] = x.tolist()
        row: List[int] = x[0].tolist()
        one: int = x[0][0].tolist()
        return rows, row, one


calls = [(torch.arange(6).reshape(2, 3),)]

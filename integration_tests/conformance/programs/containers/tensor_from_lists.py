"""Tensor from lists."""

from typing import List

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, rows: List[List[float]]):
        a = torch.tensor([[1, 2], [3, 4]])
        b = torch.tensor(rows[0])
        c = torch.tensor(rows[:1], dtype=torch.float64)
        return a, b, c, torch.tensor(5), torch.tensor([True, False])


calls = [([[1.5, 2.0], [3.0]],)]

"""Buffers and modules by their names."""

from typing import List

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
        self.register_buffer("b", torch.ones(3))

    def forward(self):
        names: List[str] = []
        total = 0
        for n, b in self.named_buffers():
            names.append(n)
            total += b.numel()
        for n, m in self.named_modules():
            names.append(n)
        for n, child in self.named_children():
            names.append(n)
        return names, total


calls = [()]

"""Keeps state."""

from typing import List

import torch
import torch.nn as nn


class Program(nn.Module):
    total: int

    def __init__(self):
        super().__init__()
        self.total = 5
        self.register_buffer("seen", torch.zeros(1))
        self.names: List[str] = ["start"]

    def forward(self, x: torch.Tensor):
        self.total += 1
        self.seen += x
        self.names.append("f")
        self.seen = self.seen * 2
        return self.total, self.seen, self.names

    @torch.jit.export
    def peek(self, x: torch.Tensor):
        return self.total, self.seen + x

    @torch.jit.export
    def add_many(self, n: int) -> int:
        for i in range(n):
            self.total += i
        return self.total


calls = [(torch.ones(1),), {"args": (torch.ones(1),), "method": "peek"}, {"args": (3,), "method": "add_many"}]

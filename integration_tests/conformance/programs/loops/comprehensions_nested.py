"""Comprehensions nested."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        rows = [[i * j for j in range(3)] for i in range(n)]
        squares = {i: i * i for i in range(n)}
        total = sum([sum(row) for row in rows])
        return rows, squares, total


calls = [(6,)]

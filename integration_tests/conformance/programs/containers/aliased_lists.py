"""Aliased lists."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        a = [1, 2]
        b = a
        c = a[:]
        b.append(n)
        nested = [a, a]
        nested[0].append(9)
        return a, b, c, nested


calls = [(3,)]

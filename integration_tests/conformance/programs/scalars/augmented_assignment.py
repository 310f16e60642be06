"""Augmented assignment."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: int, b: int):
        c = float(a)
        a += b
        a *= 2
        a -= 1
        c /= 4
        x = torch.ones(2)
        x += a
        x *= c
        values = [1]
        values += [a]
        return a, c, x, values


calls = [(10, 3)]

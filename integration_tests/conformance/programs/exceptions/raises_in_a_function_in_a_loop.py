"""Raises in a function in a loop."""

import torch.nn as nn


def check(i: int, limit: int) -> int:
    if i > limit:
        raise IndexError("{} is over {}".format(i, limit))
    return i


class Program(nn.Module):
    def forward(self, n: int) -> int:
        total = 0
        for i in range(5):
            total += check(i, n)
        return total


calls = [(3,), (0,)]

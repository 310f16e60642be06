"""Collatz."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> int:
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps


calls = [(27,), (1,), (97,)]

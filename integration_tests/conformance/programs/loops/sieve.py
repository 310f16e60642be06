"""Sieve."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> List[int]:
        composite = [False] * (n + 1)
        primes: List[int] = []
        for i in range(2, n + 1):
            if composite[i]:
                continue
            primes.append(i)
            j = i * i
            while j <= n:
                composite[j] = True
                j += i
        return primes


calls = [(30,)]

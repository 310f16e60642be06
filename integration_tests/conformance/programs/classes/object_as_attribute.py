"""Object as attribute."""

from typing import List

import torch
import torch.nn as nn


@torch.jit.script
class Counter:
    def __init__(self, start: int, step: int = 2):
        self.value = start
        self.step = step
        self.history: List[int] = []

    def advance(self, times: int = 1) -> int:
        for _ in range(times):
            self.value += self.step
            self.history.append(self.value)
        return self.value


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.counter = Counter(7)

    def forward(self, n: int) -> int:
        return self.counter.advance(n)


calls = [(3,)]

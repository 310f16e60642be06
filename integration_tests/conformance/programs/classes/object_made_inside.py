"""An object with properties and a static method, made inside."""

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

    @property
    def doubled(self) -> int:
        return self.value * 2

    @staticmethod
    def origin() -> int:
        return 100


class Program(nn.Module):
    def forward(self, n: int):
        c = Counter(n, 5)
        c.advance(2)
        return c.value, c.step, c.history, c.doubled, Counter.origin()


calls = [(1,)]

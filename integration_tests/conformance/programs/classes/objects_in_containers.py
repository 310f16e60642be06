"""Objects in containers."""

from typing import Dict

import torch
import torch.nn as nn


@torch.jit.script
class Counter:
    def __init__(self, start: int, step: int = 2):
        self.value = start
        self.step = step

    def advance(self, times: int = 1) -> int:
        for _ in range(times):
            self.value += self.step
        return self.value


class Program(nn.Module):
    def forward(self, x: torch.Tensor):
        counters: Dict[str, Counter] = {"a": Counter(1), "b": Counter(10)}
        total = 0
        for key, counter in counters.items():
            total += counter.advance(3)
        pair = (counters["a"], x)
        pair[0].value = 1000
        return total, counters["a"].value, pair[1]


calls = [(torch.ones(3),)]

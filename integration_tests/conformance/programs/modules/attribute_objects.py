"""An object of a class as an attribute."""

from typing import Dict

import torch
import torch.nn as nn


@torch.jit.script
class Stats:
    def __init__(self, n: int):
        self.n = n
        self.seen: Dict[str, int] = {}

    def add(self, k: str):
        self.n += 1
        self.seen[k] = self.n


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.stats = Stats(3)

    def forward(self, k: str):
        self.stats.add(k)
        self.stats.add(k + k)
        return self.stats.n, self.stats.seen


calls = [("a",)]

"""Methods called by name, with and without results."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 5

    def forward(self, x: int):
        return self.go(x, 3)

    @torch.jit.export
    def go(self, x: int, y: int = 3) -> int:
        return x + y + self.n

    @torch.jit.export
    def reset(self):
        self.n = 0


calls = [
    (1,),
    {"args": (1,), "method": "go"},
    {"args": (1, 2), "method": "go"},
    {"kwargs": {"y": 1, "x": 2}, "method": "go"},
    {"method": "reset"},
]

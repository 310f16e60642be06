"""Constants, Final ones and lists of them."""

from typing import Final

import torch.nn as nn


class Program(nn.Module):
    k: Final[int] = 3
    __constants__ = ["ks", "s", "none"]

    def __init__(self):
        super().__init__()
        self.ks = [1, 2]
        self.s = "text"
        self.none = None
        self.f: Final[float] = 1e10

    def forward(self, x: int):
        n = 0
        for i in self.ks:
            n += i
        if self.none is None:
            n += 100
        return x * self.k + n, self.s, self.f


calls = [(2,)]

"""What forward writes to an attribute stays for the next call."""

from typing import List, Tuple

import torch
import torch.nn as nn


class Program(nn.Module):
    l: List[int]

    def __init__(self):
        super().__init__()
        self.n = 0
        self.l = []
        self.t = torch.zeros(2)

    def forward(self, k: int):
        out: List[Tuple[int, int]] = []
        for i in range(k):
            self.n += 1
            self.l.append(self.n)
            self.t = self.t + 1
            out.append((self.n, len(self.l)))
        return out, self.t


calls = [(3,), (0,)]

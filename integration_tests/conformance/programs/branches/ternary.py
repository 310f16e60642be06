"""Ternary."""

from typing import Optional

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        a = "big" if n > 10 else "small"
        b = n if n % 2 == 0 else -n
        c: Optional[int] = n if n > 5 else None
        return a, b, c


calls = [(3,), (12,)]

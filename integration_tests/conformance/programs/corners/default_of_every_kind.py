"""Default of every kind."""

from typing import Optional, Tuple

import torch.nn as nn


class Program(nn.Module):
    def forward(
        self,
        n: int,
        a: float = 1e-5,
        b: str = 'quo"te',
        c: Optional[int] = None,
        d: bool = True,
        e: Tuple[int, str] = (1, "z"),
        f: float = float("inf"),
    ):
        return n, a, b, c, d, e, f


calls = [(2,), (-1,)]

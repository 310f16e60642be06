"""Early returns."""

from typing import Tuple

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> Tuple[int, str]:
        if n < 3:
            if n == 1:
                return 1, "one"
            n = n * 10
        else:
            n = n + 1
            if n == 6:
                return n, "six"
        return n, "other"


calls = [(1,), (5,)]

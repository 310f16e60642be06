"""Break and continue."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> List[int]:
        out: List[int] = []
        for i in range(n):
            if i % 3 == 0:
                continue
            if i > 11:
                break
            out.append(i)
        return out


calls = [(3,), (20,), (0,)]

"""Range with step."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, start: int, stop: int, step: int) -> List[int]:
        out: List[int] = []
        for i in range(start, stop, step):
            out.append(i)
        return out


calls = [(1, 10, 3), (10, 1, -2), (5, 5, 1), (0, 4, 0)]

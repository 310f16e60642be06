"""Appends while iterating."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> List[int]:
        values = [1, 2]
        for v in values:
            if len(values) < n:
                values.append(v * 10)
        return values


calls = [(4,)]

"""Remove missing."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, values: List[int]) -> List[int]:
        values.remove(5)
        return values


calls = [([1, 2],), ([5],)]

"""Wrong list elements."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, values: List[int]) -> int:
        return len(values)


calls = [([1, 2],), ([1.5],), ([],), ((1, 2),), ("ab",)]

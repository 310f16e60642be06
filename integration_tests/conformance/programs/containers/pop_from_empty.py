"""Pop from empty."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, values: List[int]) -> int:
        return values.pop()


calls = [([],), ([1],)]

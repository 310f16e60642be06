"""Read nobody reads."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: List[int]):
        b = a[7]
        return 1


calls = [([1, 2],)]

"""Trip count of an empty loop."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: List[int]):
        for _ in range(a[7]):
            pass
        return 1


calls = [([1, 2],), ([1] * 8,)]

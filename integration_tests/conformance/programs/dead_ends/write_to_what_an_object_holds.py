"""Write to what an object holds."""

from typing import List

import torch.nn as nn


class Holder:
    def __init__(self, items: List[int]):
        self.items = items


class Program(nn.Module):
    def forward(self, a: List[int]):
        held = Holder(a.copy())
        held.items[0] = 3
        return 1


calls = [([1],), ([],)]

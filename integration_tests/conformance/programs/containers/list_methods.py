"""List methods."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, values: List[int]):
        values.append(10)
        values.insert(0, 20)
        values.extend([5, 5])
        values.remove(5)
        popped = values.pop()
        first = values.pop(0)
        values.reverse()
        copied = values.copy()
        copied.sort()
        return values, copied, popped, first, values.count(5), values.index(10), len(values)


calls = [([1, 2, 3],), ([],)]

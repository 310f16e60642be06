"""torch.tensor of nested lists, of every dtype."""

from typing import List

import torch


def f(a: List[List[int]], b: List[float], c: List[bool]):
    return torch.tensor(a), torch.tensor(b), torch.tensor(c), torch.tensor(a, dtype=torch.float64), torch.tensor([a, a])


calls = [([[1, 2], [3, 4]], [1.5], [True]), ([[], []], [], [])]

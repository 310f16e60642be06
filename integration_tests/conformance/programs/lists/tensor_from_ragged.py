"""torch.tensor of lists of different lengths."""

from typing import List

import torch


def f(a: List[List[int]]):
    return torch.tensor(a)


calls = [([[1, 2], [3]],)]

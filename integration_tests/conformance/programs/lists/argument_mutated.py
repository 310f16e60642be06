"""The caller's list is changed."""

from typing import List

import torch


def f(l: List[List[int]], t: List[torch.Tensor]):
    l[0].append(1)
    l.append([5])
    t[0].add_(1)
    t[1] = t[0]
    return len(l)


calls = [([[0], [2]], [torch.ones(2), torch.zeros(2)])]

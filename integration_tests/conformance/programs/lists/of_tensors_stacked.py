"""Lists of tensors in operators."""

from typing import List

import torch


def f(l: List[torch.Tensor]):
    return torch.stack(l), torch.cat(l), len(l)


calls = [([torch.ones(2), torch.zeros(2)],), ([],)]

"""== of lists of tensors compares the tensors."""

from typing import List

import torch


def f(a: List[torch.Tensor], b: List[torch.Tensor]):
    return a == b, a != b


calls = [([torch.tensor(1)], [torch.tensor(1)]), ([torch.tensor(1)], [torch.tensor(2)]), ([torch.ones(1)], [])]

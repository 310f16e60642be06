"""Tensor or list."""

from typing import List, Union

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: Union[torch.Tensor, List[torch.Tensor]]):
        if isinstance(x, torch.Tensor):
            return x + 1
        total = torch.zeros(1)
        for t in x:
            total = total + t.sum()
        return total


calls = [(torch.ones(2),), ([torch.ones(2), torch.ones(1)],)]

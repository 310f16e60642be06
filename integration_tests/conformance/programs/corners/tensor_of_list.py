"""Tensor of list."""

from typing import List

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, values: List[float]):
        return torch.tensor(values), torch.tensor([values, values]), torch.tensor([len(values)])


calls = [([1.5, 2.5],), ([],)]

"""To list of another type."""

from typing import List

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        numbers: List[int] = x.tolist()
        return numbers


calls = [(torch.ones(2),), (torch.tensor([True, False]),), (torch.ones(2, dtype=torch.int64),)]

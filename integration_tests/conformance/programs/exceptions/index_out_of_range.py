"""Index out of range."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: torch.Tensor, i: int):
        return x[i]


calls = [(torch.ones(3), 1), (torch.ones(3), 5)]

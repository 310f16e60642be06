"""Tensors as conditions and indices."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        n = 0
        if x.dim() > 0 and bool(x[0] == 1):
            n = int(x.sum())
        values = [10, 20, 30]
        return n, values[n % 3], x.dim() == 0 or n > 3


calls = [(torch.tensor([1, 2, 3]),), (torch.tensor(5),)]

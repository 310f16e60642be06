"""Data dependent sizes."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        values, counts = torch.unique(x, return_counts=True)
        nonzero = torch.nonzero(x > 2)
        picked = torch.masked_select(x, x > 2)
        return values, counts, nonzero, picked, x.bincount(), picked.numel()


calls = [(torch.tensor([4, 2, 2, 9]),)]

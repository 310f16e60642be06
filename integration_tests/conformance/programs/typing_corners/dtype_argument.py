"""Dtype argument."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, dtype: torch.dtype):
        return torch.zeros(1, dtype=dtype)


calls = [(torch.float64,), (6,)]

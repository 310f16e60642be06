"""Dtype fails."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        return torch.nn.functional.linear(x, torch.ones(2, 2))


calls = [(torch.ones(2),), (torch.ones(2, dtype=torch.int64),)]

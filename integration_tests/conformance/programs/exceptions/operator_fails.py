"""Operator fails."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, a, b):
        return a @ b + (a + b)


calls = [(torch.ones(2), torch.ones(3)), (torch.ones(2, 3), torch.ones(2, 3))]

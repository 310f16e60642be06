"""Writes in the middle."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        before = x + 0
        y = x.add_(1)
        during = x * 1
        y.add_(1)
        return before, during, x, y


calls = [(torch.zeros(2),)]

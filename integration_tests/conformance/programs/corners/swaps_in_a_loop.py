"""Swaps in a loop."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor):
        for _ in range(5):
            a, b = b, a + b
        x = [a, b]
        x[0], x[1] = x[1], x[0]
        return a, b, x


calls = [(torch.ones(2), torch.zeros(2))]

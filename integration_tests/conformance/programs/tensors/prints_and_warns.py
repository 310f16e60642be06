"""Prints and warns."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x, n: int):
        if n < -100:
            print("never", x)
        return x * n


calls = [(torch.ones(2), 3), (torch.ones(2), -3)]

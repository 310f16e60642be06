"""Elif chain."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> str:
        if n > 0:
            word = "positive"
        elif n < 0:
            word = "negative"
        else:
            word = "zero"
        return word


calls = [(3,), (-3,), (0,)]

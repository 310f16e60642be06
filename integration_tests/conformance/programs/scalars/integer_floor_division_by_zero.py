"""Integer floor division by zero."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: int, b: int):
        return a // b


calls = [(7, 0), (-7, 0)]

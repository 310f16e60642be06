"""Float division by zero."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, a: float):
        return a / 0.0


calls = [(1.0,), (0.0,), (-1.0,)]

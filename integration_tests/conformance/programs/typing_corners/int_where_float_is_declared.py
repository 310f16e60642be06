"""Int where float is declared."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: float) -> float:
        return x / 2


calls = [(1,), (1.0,)]

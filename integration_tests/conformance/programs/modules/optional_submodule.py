"""A submodule that is None."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = None
        self.up = nn.ReLU()

    def forward(self, x):
        if self.down is not None:
            x = self.down(x)
        if self.up is not None:
            x = self.up(x)
        return x


calls = [(torch.tensor([-1.0, 1.0]),)]

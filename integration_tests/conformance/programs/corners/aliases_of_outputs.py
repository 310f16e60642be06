"""Aliases of outputs."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        y = x.view(2, 2)
        z = y[0]
        z.add_(10)
        return x, y, z, [x, y]


calls = [(torch.arange(4.0),)]

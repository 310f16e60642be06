"""Out variants."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        torch.add(x, 1, out=y)
        z = torch.zeros(2)
        torch.sum(x, dim=1, out=z)
        return y, z


calls = [(torch.arange(6.0).reshape(2, 3),)]

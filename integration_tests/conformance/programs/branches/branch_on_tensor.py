"""Branch on tensor."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            y = x * 2
        else:
            y = x - 1
        return y


calls = [(torch.ones(3),), (-torch.ones(3),)]

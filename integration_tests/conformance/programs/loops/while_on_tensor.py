"""While on tensor."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: torch.Tensor):
        n = 0
        while x < 50 and n < 20:
            x = x * 2
            n += 1
        return x, n


calls = [(torch.tensor(0.5),), (torch.tensor(100.0),)]

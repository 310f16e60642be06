"""Write to what a list holds."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        rows = [torch.zeros(3) for _ in range(n)]
        rows[0][1] = 4.0
        return 1


calls = [(0,), (2,)]

"""In place in loop and branch."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        y = x
        for i in range(3):
            if i % 2 == 0:
                y = y.clone()
            y[i] = float(i + 1)
        return x, y


calls = [(torch.zeros(3),)]

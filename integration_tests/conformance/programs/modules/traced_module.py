"""Traced module."""

import torch
import torch.nn as nn


def traced():
    class Traced(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("mask", torch.tensor([1.0, 0.0, 1.0, 1.0]))

        def forward(self, x, y):
            n = x.shape[0]
            z = self.linear(x) * self.mask + y.mean() * n
            return {"z": z, "reshaped": z.reshape(n * 2, -1)}, (x.size(1) + z.sum(),)

    with torch.no_grad():
        return torch.jit.trace(Traced().eval(), (torch.ones(2, 4), torch.ones(3)), strict=False)


def make():
    return traced()


calls = [(torch.ones(2, 4), torch.ones(3)), (torch.ones(5, 4), torch.ones(1))]

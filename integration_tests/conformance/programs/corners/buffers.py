"""Buffers."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2), persistent=False)
        self.register_buffer("none", None)
        self.steps = torch.tensor(0)

    def forward(self, x):
        self.seen.copy_(x[0])
        self.steps += 1
        return self.seen, self.none, self.steps


calls = [(torch.ones(1, 2),)]

"""Buffers that are views of one storage."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        base = torch.arange(6.0)
        self.register_buffer("whole", base)
        self.register_buffer("part", base[2:4])
        self.register_buffer("odd", base[1::2])

    def forward(self):
        self.part.add_(100)
        self.odd.mul_(-1)
        return self.whole, self.part.stride(), self.odd.storage_offset()


calls = [()]

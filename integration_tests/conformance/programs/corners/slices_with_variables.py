"""Slices with variables."""

from typing import Optional

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x, n: int):
        start: Optional[int] = n
        return x[start:], x[:-n], x[-n:], x[n : n + 2], x[::n], x[None, :, None].shape, x[n], x[n:][0]


calls = [(torch.arange(5.0), 2)]

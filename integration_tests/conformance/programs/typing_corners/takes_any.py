"""Takes any."""

from typing import Any

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: Any):
        if isinstance(x, int):
            return "int", x + 1
        if isinstance(x, str):
            return x, 0
        if isinstance(x, torch.Tensor):
            return "tensor", int(x.sum())
        return "other", -1


calls = [(1,), ("a",), (torch.ones(1),), ([1, 2],), (None,)]

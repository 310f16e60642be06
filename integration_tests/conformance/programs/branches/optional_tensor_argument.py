"""Optional tensor argument."""

from typing import Optional

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: torch.Tensor, other: Optional[torch.Tensor] = None):
        if other is not None and other.sum() > 1:
            x = x + other
        return x, other


calls = [
    (torch.ones(2),),
    (torch.ones(2), torch.ones(2)),
    {"args": (torch.ones(2),), "kwargs": {"other": torch.zeros(2)}},
]

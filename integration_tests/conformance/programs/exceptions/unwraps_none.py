"""Unwraps none."""

from typing import Optional

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: Optional[torch.Tensor]):
        return torch.jit._unwrap_optional(x) + 1


calls = [(None,), (torch.ones(1),)]

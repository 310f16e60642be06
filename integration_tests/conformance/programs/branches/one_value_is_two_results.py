"""One value is two results."""

from typing import Optional

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, flag: Optional[bool], y: torch.Tensor):
        if flag is not None:
            a, b = flag, flag
        else:
            a, b = False, flag
        if a:
            y = y + 1
        return y, a, b


calls = [(True, torch.ones(2)), (None, torch.ones(2))]

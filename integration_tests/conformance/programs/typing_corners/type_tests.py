"""Type tests."""

from typing import Any, Optional

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        a: Any = 3
        b: Optional[int] = None if x.sum() > 100 else 5
        return isinstance(a, int), isinstance(a, (str, float)), isinstance(b, int), torch.jit.isinstance(a, int)


calls = [(torch.ones(2),)]

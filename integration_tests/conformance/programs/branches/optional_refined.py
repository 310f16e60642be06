"""Optional refined."""

from typing import Optional

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: Optional[int]) -> int:
        if n is None:
            return -1
        return n + 1


calls = [(None,), (4,)]

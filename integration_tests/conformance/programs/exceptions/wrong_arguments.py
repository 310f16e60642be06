"""Wrong arguments."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> int:
        return n


calls = [(1,), ("text",), (), (1, 2, 3), ([1],), (1.5,)]

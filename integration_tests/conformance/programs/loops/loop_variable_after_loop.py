"""Loop variable after loop."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> int:
        i = -7
        for i in range(n):
            pass
        return i


calls = [(3,), (0,)]

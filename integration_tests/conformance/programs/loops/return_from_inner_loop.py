"""Return from inner loop."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, wanted: int) -> int:
        for i in range(10):
            for j in range(10):
                if i * j == wanted * 2:
                    return i * 100 + j
        return -1


calls = [(2,), (5,), (100,)]

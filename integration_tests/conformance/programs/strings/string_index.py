"""String index."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str, n: int) -> str:
        return s[n]


calls = [("abc", 1), ("abc", -3), ("abc", 3)]

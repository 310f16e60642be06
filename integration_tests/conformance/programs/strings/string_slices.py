"""String slices."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str, n: int):
        return s[n:], s[:n], s[-2:], s[::2], s[1:-1]


calls = [("abcdef", 2), ("ab", -1), ("abc", 7)]

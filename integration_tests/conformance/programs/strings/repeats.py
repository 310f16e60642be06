"""Repeats."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str, n: int):
        return s + str(n), s + s, s == "ab", s < "b", s != "", s >= "ab"


calls = [("ab", 3), ("", 4), ("ab", 0), ("ab", -1)]

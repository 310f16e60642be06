"""Parses integers."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, text: str) -> int:
        return int(text)


calls = [("12x",), ("",), ("9",)]

"""Parses floats."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, text: str) -> float:
        return float(text)


calls = [("1.5e3",), ("nan",), ("one",)]

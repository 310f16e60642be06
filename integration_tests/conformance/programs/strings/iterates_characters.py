"""Iterates characters."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str) -> List[str]:
        out: List[str] = []
        for c in s:
            out.append(c + "!")
        return out


calls = [("hello",), ("",)]

"""Joins."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, parts: List[str], by: str):
        return by.join(parts), by.join([p.upper() for p in parts])


calls = [(["a", "b", "c"], "-"), ([], "-"), (["x"], "")]

"""Unusual characters."""

from typing import Tuple

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str) -> Tuple[str, int, str]:
        return s + "é\n\t\\\"'", len(s), "naïve ☕"


calls = [('café ☕ \x01\x7f"quoted" \\ \n tab\t',)]

"""Unpacks in loops."""

from typing import List, Tuple

import torch.nn as nn


class Program(nn.Module):
    def forward(self, pairs: List[Tuple[int, str]]) -> str:
        out = ""
        for n, word in pairs:
            out += word + str(n)
        return out


calls = [([(1, "a"), (2, "b")],), ([],)]

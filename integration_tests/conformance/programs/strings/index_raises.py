"""Index raises."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str, what: str) -> int:
        return s.index(what) + s.rindex(what)


calls = [("banana", "z"), ("banana", "na")]

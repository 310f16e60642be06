"""Split on whitespace."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str):
        return s.split(), s.rsplit()


calls = [("a b  c",), ("  ",)]

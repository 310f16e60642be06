"""Justifies."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str):
        return s.ljust(5), s.rjust(5, "0"), s.center(6, "*"), s.zfill(5), s.expandtabs(4)


calls = [("7",), ("-42",), ("long text",)]

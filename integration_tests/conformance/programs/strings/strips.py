"""Strips."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str):
        return s.strip(), s.lstrip(), s.rstrip(), s.strip("x"), s.lstrip("x "), s.rstrip("x\n")


calls = [(" \t a b\n",), ("xxaxx",)]

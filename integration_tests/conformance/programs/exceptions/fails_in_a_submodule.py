"""Fails in a submodule."""

import torch.nn as nn


class Strict(nn.Module):
    def forward(self, text: str) -> int:
        if not text.isdigit():
            raise ValueError("not a number: '" + text + "'")
        return int(text)


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Strict()

    def forward(self, text: str) -> int:
        return self.inner(text)


calls = [("a",), ("1",)]

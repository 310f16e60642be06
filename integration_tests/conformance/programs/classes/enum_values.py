"""Enum values."""

from enum import Enum

import torch.nn as nn


class Color(Enum):
    RED = 1
    GREEN = 2


class Word(Enum):
    HELLO = "hello there"
    BYE = "bye"


class Program(nn.Module):
    def forward(self, n: int):
        color = Color.RED if n == 1 else Color.GREEN
        word = Word.HELLO
        return (
            color == Color.GREEN,
            color.value,
            color.name,
            word.value,
            word.name,
            Color.RED != color,
            n == color.value,
        )


calls = [(1,), (2,)]

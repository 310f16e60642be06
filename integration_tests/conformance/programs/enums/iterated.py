"""Loops over an enum."""

from enum import Enum
from typing import List


class Color(Enum):
    RED = 1
    GREEN = 2
    BLUE = 4


def f():
    s = 0
    names: List[str] = []
    for c in Color:
        s += c.value
        names.append(c.name)
    return s, names


calls = [()]

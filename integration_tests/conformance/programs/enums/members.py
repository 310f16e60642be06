"""Members, their names and values."""

from enum import Enum


class Color(Enum):
    RED = 1
    GREEN = 2


def f(x: int):
    c = Color.RED if x == 1 else Color.GREEN
    return c.name, c.value, c == Color.RED, c != Color.RED, c is Color.RED


calls = [(1,), (2,)]

"""== of named tuples."""

from typing import NamedTuple


class Point(NamedTuple):
    x: int
    y: int


def f(a: int, b: int):
    return Point(a, b) == Point(b, a)


calls = [(1, 1), (1, 2)]

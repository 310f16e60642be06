"""A named tuple made of too much."""

from typing import NamedTuple


class Point(NamedTuple):
    x: int


def f(a: int):
    return Point(a, a)


calls = [(1,)]

"""A named tuple as an argument, given as a tuple."""

from typing import NamedTuple


class Point(NamedTuple):
    x: int
    y: int


def f(p: Point):
    return p.x - p.y


calls = [((5, 3),)]

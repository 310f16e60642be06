"""A field that is not there."""

from typing import NamedTuple


class Point(NamedTuple):
    x: int


def f(a: int):
    return Point(a).z


calls = [(1,)]

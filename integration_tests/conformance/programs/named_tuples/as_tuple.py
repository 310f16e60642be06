"""A named tuple where a tuple is wanted."""

from typing import List, NamedTuple, Tuple


class Point(NamedTuple):
    x: int
    y: float


def g(t: Tuple[int, float]) -> float:
    return t[0] + t[1]


def f(a: int):
    p = Point(a, 2.5)
    l: List[Point] = [p, Point(0, 0.0)]
    return g(p), [q.y for q in l], p


calls = {"f": [(1,)]}

"""Fields by name and by position, defaults."""

from typing import NamedTuple


class Point(NamedTuple):
    x: int
    y: int = 7
    name: str = "p"


def f(a: int):
    p = Point(a)
    q = Point(a, name="q")
    r = Point(y=1, x=2)
    x, y, n = q
    return p.x, p.y, p[0], p[-1], q.name, r, x + y, len(p), n


calls = [(1,)]

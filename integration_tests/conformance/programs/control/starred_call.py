"""A tuple expanded in a call."""

from typing import Tuple


def g(a: int, b: str, c: float):
    return b + str(a) + str(c)


def f(t: Tuple[int, str]):
    return g(*t, 2.5), g(1, *("x", 0.5))


calls = {"f": [((1, "a"),)]}

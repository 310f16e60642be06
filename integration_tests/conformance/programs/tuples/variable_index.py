"""A tuple of one type may be indexed by a variable."""

from typing import Tuple


def f(t: Tuple[int, int, int], i: int):
    return t[i]


calls = [((1, 2, 3), 0), ((1, 2, 3), -1), ((1, 2, 3), 3), ((1, 2, 3), -4)]

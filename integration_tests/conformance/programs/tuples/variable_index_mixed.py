"""A tuple of several types may not."""

from typing import Tuple


def f(t: Tuple[int, str], i: int):
    return t[i]


calls = [((1, "a"), 0)]

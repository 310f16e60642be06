"""Tuples cannot be written."""

from typing import Tuple


def f(t: Tuple[int, int]):
    t[0] = 5
    return t


calls = [((1, 2),)]

"""Slices of tuples, with steps."""

from typing import Tuple


def f(t: Tuple[int, str, float, bool]):
    return t[1:3], t[:], t[:-1], t[-2:], t[::2], t[3:1]


calls = [((1, "a", 2.5, True),)]

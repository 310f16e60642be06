"""Loops over tuples are unrolled, of several types too."""

from typing import Tuple


def f(t: Tuple[int, float]):
    s = 0.0
    for x in t:
        s = s + x
    for i, x in enumerate((1, 2, 3)):
        s = s + i * x
    return s


calls = [((1, 2.5),)]

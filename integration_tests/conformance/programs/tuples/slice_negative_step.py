"""A tuple reversed by a slice."""

from typing import Tuple


def f(t: Tuple[int, str, float]):
    return t[::-1], t[2:0:-1]


calls = [((1, "a", 2.5),)]

"""Unpacking a tuple of another length does not compile."""

from typing import Tuple


def f(t: Tuple[int, int, int]):
    a, b = t
    return a


calls = [((1, 2, 3),)]

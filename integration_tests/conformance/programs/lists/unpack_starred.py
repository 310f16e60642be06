"""Unpacking with a starred target takes a tuple."""

from typing import Tuple


def f(t: Tuple[int, int, str, float]):
    a, *b = t
    return a, b


calls = [((1, 2, "x", 3.0),)]

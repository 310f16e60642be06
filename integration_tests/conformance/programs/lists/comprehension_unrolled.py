"""A comprehension over a tuple."""

from typing import Tuple


def f(t: Tuple[int, int]):
    return [x + 1 for x in t]


calls = [((1, 2),)]

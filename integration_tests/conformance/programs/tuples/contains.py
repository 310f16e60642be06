"""in of a tuple."""

from typing import Tuple


def f(a: Tuple[int, int], x: int):
    return x in a


calls = [((1, 2), 2), ((1, 2), 5)]

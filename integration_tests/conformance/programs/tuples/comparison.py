"""== and != of tuples of one type."""

from typing import Tuple


def f(a: Tuple[int, int], b: Tuple[int, int]):
    return a == b, a != b


calls = [((1, 2), (1, 2)), ((1, 2), (2, 1))]

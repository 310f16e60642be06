"""< of tuples."""

from typing import Tuple


def f(a: Tuple[int, int], b: Tuple[int, int]):
    return a < b


calls = [((1, 2), (1, 3))]

"""== of tuples of several types."""

from typing import Tuple


def f(a: Tuple[int, str], b: Tuple[int, str]):
    return a == b


calls = [((1, "a"), (1, "a"))]

"""+ of tuples."""

from typing import Tuple


def f(a: Tuple[int, str], b: Tuple[float]):
    return a + b


calls = [((1, "a"), (2.5,))]

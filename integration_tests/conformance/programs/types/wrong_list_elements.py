"""Lists with elements of the wrong type."""

from typing import List


def f(x: List[int]):
    return x


calls = [(["a"],), ([1.5],), ([1, 2],), ((1, 2),), (3,)]

"""A return out of two loops."""

from typing import Tuple


def f(n: int) -> Tuple[int, int]:
    for i in range(n):
        for j in range(n):
            if i * j == 6:
                return i, j
    return -1, -1


calls = [(4,), (2,)]

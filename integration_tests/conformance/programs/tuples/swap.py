"""The right side is read before anything is written."""

from typing import List


def f(a: int, b: int, l: List[int]):
    a, b = b, a
    l[0], l[1] = l[1], l[0]
    i = 0
    i, l[i] = 1, 50
    return a, b, l, i


calls = [(1, 2, [3, 4])]

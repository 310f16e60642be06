"""pop with and without a position."""

from typing import List


def f(l: List[int], i: int):
    a = l.pop()
    b = l.pop(i)
    return a, b, l


calls = [([1, 2, 3], 0), ([1, 2, 3], -1), ([1, 2, 3], 5), ([1], 0), ([], 0)]

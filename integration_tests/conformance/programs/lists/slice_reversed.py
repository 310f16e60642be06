"""A list reversed by a slice."""

from typing import List


def f(l: List[int]):
    return l[::-1], l[::-2], l[3::-1], l[:1:-1]


calls = [([0, 1, 2, 3, 4],), ([],), ([7],)]

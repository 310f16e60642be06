"""insert clamps its position."""

from typing import List


def f(l: List[int], i: int):
    l.insert(i, 9)
    return l


calls = [([1, 2], 0), ([1, 2], 1), ([1, 2], 2), ([1, 2], 100), ([1, 2], -1), ([1, 2], -100), ([], 0), ([], -5)]

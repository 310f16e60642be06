"""Assigning an element, also past the end."""

from typing import List


def f(l: List[int], i: int):
    l[i] = 9
    return l


calls = [([1, 2, 3], 0), ([1, 2, 3], -1), ([1, 2, 3], 3), ([], -1)]

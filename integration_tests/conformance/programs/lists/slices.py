"""Slices clamp."""

from typing import List


def f(l: List[int], a: int, b: int):
    return l[a:b], l[a:], l[:b], l[:], l[-2:], l[:-1]


calls = [([0, 1, 2, 3, 4], 1, 3), ([0, 1, 2, 3, 4], -3, 10), ([0, 1, 2], 5, 2), ([], 0, 1), ([0, 1, 2, 3], 3, 1)]

"""Slices with a step, a negative one too."""

from typing import List


def f(l: List[int], a: int, b: int, c: int):
    return l[a:b:c]


calls = [
    ([0, 1, 2, 3, 4], 0, 5, 2),
    ([0, 1, 2, 3, 4], 4, 0, -1),
    ([0, 1, 2, 3, 4], 4, 0, -2),
    ([0, 1, 2, 3, 4], -1, -10, -1),
    ([0, 1, 2], 0, 3, 0),
    ([0, 1, 2], 0, 3, 100),
]

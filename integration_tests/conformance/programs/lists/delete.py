"""del of an element and of a slice."""

from typing import List


def f(l: List[int], i: int):
    del l[i]
    return l


def g(l: List[int]):
    del l[1:3]
    return l


calls = {"f": [([1, 2, 3], 1), ([1, 2, 3], -1), ([1], 3), ([], 0)], "g": [([0, 1, 2, 3],)]}

"""min of an empty list raises."""

from typing import List


def f(a: List[int]):
    return min(a)


def g(a: List[float]):
    return max(a)


calls = {"f": [([],)], "g": [([],)]}

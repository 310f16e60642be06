"""Assigning to a slice."""

from typing import List


def f(l: List[int]):
    l[1:3] = [7, 8]
    return l


calls = [([0, 1, 2, 3],)]

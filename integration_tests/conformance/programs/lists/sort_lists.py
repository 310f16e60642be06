"""A list of lists has no order."""

from typing import List


def f(l: List[List[int]]):
    return sorted(l)


calls = [([[2], [1]],)]

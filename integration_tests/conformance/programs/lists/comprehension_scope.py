"""A comprehension's variable is its own."""

from typing import List


def f(l: List[int]):
    x = 7
    y = [x for x in l]
    return x, y


calls = [([1, 2],)]

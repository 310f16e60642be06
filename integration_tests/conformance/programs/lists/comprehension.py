"""List comprehensions, with and without conditions."""

from typing import List


def f(l: List[int]):
    return [x * 2 for x in l], [x for x in l if x > 1], [float(x) for x in l]


calls = [([1, 2, 3],), ([],)]

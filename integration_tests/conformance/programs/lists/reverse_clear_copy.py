"""reverse, clear, copy."""

from typing import List


def f(l: List[int]):
    m = l.copy()
    l.reverse()
    n = l.copy()
    l.clear()
    return l, m, n


calls = [([1, 2, 3],), ([],)]

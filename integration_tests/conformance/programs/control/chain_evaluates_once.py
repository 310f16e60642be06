"""The middle of a chain is evaluated once."""

from typing import List


def g(l: List[int]):
    l.append(1)
    return len(l)


def f(l: List[int]):
    r = 0 < g(l) < 5
    return r, l


calls = {"f": [([],), ([1, 2, 3, 4, 5],)]}

"""Lists of strings sorted, with min and max."""

from typing import List


def f(l: List[str]):
    return sorted(l), l


def g(l: List[str]):
    l.sort()
    l.reverse()
    return l


calls = {"f": [(["b", "a", "B", ""],), ([],)], "g": [(["b", "a", "c"],)]}

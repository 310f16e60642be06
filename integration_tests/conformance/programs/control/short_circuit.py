"""and, or do not evaluate what they need not."""

from typing import List


def g(l: List[int], x: bool):
    l.append(len(l))
    return x


def f(a: bool, b: bool):
    l: List[int] = []
    x = g(l, a) and g(l, b)
    n = len(l)
    y = g(l, a) or g(l, b)
    return x, n, y, len(l)


calls = {"f": [(True, True), (True, False), (False, True), (False, False)]}

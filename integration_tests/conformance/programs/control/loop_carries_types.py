"""Loops over values of several types."""

from typing import List


def f(n: int):
    a, b, c = 0, 1.0, ""
    d: List[int] = []
    t = (0, "x")
    for i in range(n):
        a, b, c = a + i, b / 2, c + str(i)
        d.append(a)
        t = (i, c)
    return a, b, c, d, t


calls = [(3,), (0,)]

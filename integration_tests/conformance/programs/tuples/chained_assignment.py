"""One value to several targets."""

from typing import List


def f(x: int, l: List[int]):
    a = b = x + 1
    c, d = e = (a, "s")
    l[0] = f = 9
    return a, b, c, d, e, f, l


calls = [(1, [0])]

"""A range's bounds are read once, its variable may be assigned."""

from typing import List


def f(n: int):
    out: List[int] = []
    for i in range(n):
        n = 100
        out.append(i)
        i = 50
    return out, n


calls = [(3,), (0,)]

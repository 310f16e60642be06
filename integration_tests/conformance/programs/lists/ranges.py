"""range with every sign of step."""

from typing import List


def f(a: int, b: int, c: int):
    out: List[int] = []
    for i in range(a, b, c):
        out.append(i)
    return out


calls = [(0, 10, 3), (10, 0, -3), (0, 0, 1), (5, 1, 1), (1, 5, -1), (0, 3, 100), (-3, 3, 2)]

"""While with conditions of several parts."""

from typing import List


def f(n: int, l: List[int]):
    i = 0
    s = 0
    while i < len(l) and l[i] != n:
        s += l[i]
        i += 1
    while not s < 10:
        s -= 10
    return i, s


calls = [(3, [1, 2, 3]), (9, [20, 5]), (1, [])]

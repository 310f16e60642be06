"""Targets of a for that unpack."""

from typing import List, Tuple


def f(l: List[Tuple[int, str]], m: List[List[int]]):
    out: List[str] = []
    for a, b in l:
        out.append(b + str(a))
    n = 0
    for x, y in m:
        n += x * y
    return out, n


calls = [([(1, "a")], [[2, 3]]), ([], []), ([], [[1, 2, 3]])]

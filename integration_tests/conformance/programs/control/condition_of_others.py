"""Numbers as conditions; strings and lists are none."""

from typing import List


def f(a: int, b: float):
    x = 1 if a else 2
    y = 1 if b else 2
    return x, y


def g(l: List[int]):
    if l:
        return 1
    return 0


def h(s: str):
    if s:
        return 1
    return 0


calls = {"f": [(0, 0.0), (1, 0.5)], "g": [([],), ([1],)], "h": [("",), ("a",)]}

"""remove takes the first of equals."""

from typing import List


def f(l: List[int], x: int):
    l.remove(x)
    return l


def g(l: List[str], x: str):
    l.remove(x)
    return l


calls = {"f": [([1, 2, 1], 1), ([1], 5), ([], 1)], "g": [(["a", "b"], "b"), (["a"], "c")]}

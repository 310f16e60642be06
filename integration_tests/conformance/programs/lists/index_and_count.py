"""index and count."""

from typing import List


def f(l: List[int], x: int):
    return l.count(x), l.index(x)


def g(l: List[float], x: float):
    return l.count(x), x in l


calls = {"f": [([1, 2, 1], 1), ([1, 2], 2), ([1], 7)], "g": [([1.0, float("nan")], float("nan")), ([0.0], -0.0)]}

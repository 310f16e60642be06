"""sort and sorted; nan goes last."""

from typing import List


def f(l: List[int]):
    l.sort()
    return l


def g(l: List[float]):
    return sorted(l), l


def h(l: List[int]):
    l.sort(reverse=True)
    return l


def i(l: List[bool]):
    return sorted(l)


calls = {
    "f": [([3, 1, 2],), ([],)],
    "g": [([3.5, float("nan"), 1.0, float("-inf")],), ([0.0, -0.0],)],
    "h": [([3, 1, 2],)],
    "i": [([True, False, True],)],
}

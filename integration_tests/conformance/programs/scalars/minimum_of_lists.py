"""min and max of one list, and of two."""

from typing import List


def f(a: List[int]):
    return min(a), max(a)


def g(a: List[float]):
    return min(a), max(a)


def h(a: List[int], b: List[int]):
    return min(a, b), max(a, b)


def i(a: List[bool]):
    return min(a), max(a)


calls = {
    "f": [([3, 1, 2],), ([-5],)],
    "g": [([3.5, float("nan"), 2.0],), ([float("nan"), 3.0],), ([0.0, -0.0],)],
    "h": [([1, 2], [1, 3]), ([1, 2], [1]), ([2], [1, 9])],
    "i": [([True, False],)],
}

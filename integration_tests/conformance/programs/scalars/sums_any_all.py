"""sum, any and all of lists."""

from typing import List


def f(a: List[int], b: List[float], c: List[bool]):
    return sum(a), sum(b), sum(c), any(a), all(a), any(b), all(b), any(c), all(c)


calls = [([1, 2], [0.5, 0.25], [True, True]), ([0], [0.0], [False]), ([], [], [])]

"""Objects without __lt__ cannot be sorted."""

from typing import List


class P:
    def __init__(self, k: int):
        self.k = k


def f(l: List[int]):
    ps = [P(k) for k in l]
    return len(sorted(ps))


calls = [([1, 2],)]

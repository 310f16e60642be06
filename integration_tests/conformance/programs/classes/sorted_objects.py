"""Objects sorted by __lt__."""

from typing import List


class P:
    def __init__(self, k: int, name: str):
        self.k = k
        self.name = name

    def __lt__(self, other: "P") -> bool:
        return self.k < other.k


def f(l: List[int]):
    ps = [P(k, "p" + str(i)) for i, k in enumerate(l)]
    qs = sorted(ps)
    ps.sort(reverse=True)
    return [p.name for p in ps], [q.name for q in qs]


calls = [([3, 1, 2],), ([],), ([1, 1, 1],)]

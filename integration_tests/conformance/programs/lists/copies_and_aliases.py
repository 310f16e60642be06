"""l[:], list(l) and l.copy() are copies, l is not."""

from typing import List


def f(l: List[int]):
    a, b, c, d = l[:], list(l), l.copy(), l
    l[0] = 100
    return a, b, c, d


calls = [([1, 2],)]

"""reversed in a loop."""

from typing import List


def f(a: List[int]):
    out: List[int] = []
    for x in reversed(a):
        out.append(x)
    return out


calls = [([1, 2, 3],), ([],)]

"""A list that shrinks while it is walked over."""

from typing import List


def f(l: List[int]):
    out: List[int] = []
    for x in l:
        out.append(x)
        if len(l) > 1:
            l.pop()
    return out, l


calls = [([1, 2, 3, 4],)]

"""The number of rounds is fixed at the start, elements are read live."""

from typing import List


def f(l: List[int]):
    out: List[int] = []
    for x in l:
        if len(l) < 10:
            l.append(x * 10)
        l[-1] += 1
        out.append(x)
    return out, l


calls = [([1, 2],), ([],)]

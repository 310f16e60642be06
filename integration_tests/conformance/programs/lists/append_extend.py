"""append, extend, also by itself."""

from typing import List


def f(l: List[int], m: List[int]):
    l.append(5)
    l.extend(m)
    l.extend(l)
    return l, len(l)


calls = [([1], [2, 3]), ([], [])]

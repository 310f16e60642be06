"""A tuple holds references."""

from typing import List


def f(l: List[int]):
    t = (l, l)
    t[0].append(1)
    a, b = t
    b.append(2)
    return t, l


calls = [([],)]

"""tuple() of a list needs its length."""

from typing import List


def f(l: List[int]):
    return tuple(l)


calls = [([1, 2],)]

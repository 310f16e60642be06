"""A loop's variable is not seen after the loop as another type."""

from typing import List


def f(l: List[str]):
    i = 100
    for i in range(3):
        pass
    return i


calls = [([],)]

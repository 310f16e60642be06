"""A list of a Union."""

from typing import List, Union


def f(l: List[Union[int, str]]):
    n = 0
    for x in l:
        if isinstance(x, int):
            n += x
        else:
            n += len(x)
    return n


calls = [([1, "ab", 3],)]

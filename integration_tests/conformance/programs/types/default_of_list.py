"""A list for a default."""

from typing import List


def f(a: List[int] = [1, 2]):
    return a


calls = [(), ([3],)]

"""Unpacking a list checks its length."""

from typing import List


def f(l: List[int]):
    a, b = l
    return a + b


calls = [([1, 2],), ([1],), ([1, 2, 3],), ([],)]

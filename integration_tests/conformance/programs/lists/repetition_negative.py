"""A list repeated a negative number of times."""

from typing import List


def f(l: List[int], n: int):
    return l * n


calls = [([1], -1)]

"""A list repeated; *= in place."""

from typing import List


def f(l: List[int], n: int):
    a = l * n
    b = n * l
    l *= 2
    return a, b, l


calls = [([1, 2], 2), ([1], 0), ([], 3)]

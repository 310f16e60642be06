"""< and > of lists."""

from typing import List


def f(a: List[int], b: List[int]):
    return a < b, a <= b, a > b, a >= b


calls = [([1, 2], [1, 3]), ([1], [1, 2]), ([], [])]

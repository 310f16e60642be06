"""== of nested lists."""

from typing import List


def f(a: List[List[int]], b: List[List[int]]):
    return a == b, a != b


calls = [([[1], [2]], [[1], [2]]), ([[1]], [[2]])]

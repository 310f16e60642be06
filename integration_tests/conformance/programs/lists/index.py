"""Indexing, negative too, and past either end."""

from typing import List


def f(l: List[int], i: int):
    return l[i]


calls = [([1, 2, 3], 0), ([1, 2, 3], -1), ([1, 2, 3], -3), ([1, 2, 3], 3), ([1, 2, 3], -4), ([], 0)]

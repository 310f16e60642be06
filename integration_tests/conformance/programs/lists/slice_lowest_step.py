"""A slice with the lowest int for its step."""

from typing import List


def f(l: List[int], c: int):
    return l[::c]


calls = [([0, 1, 2], -9223372036854775808), ([0, 1, 2], 9223372036854775807), ([0, 1, 2], -9223372036854775807)]

"""Indexing past the end does not compile."""

from typing import Tuple


def f(t: Tuple[int, int]):
    return t[2]


calls = [((1, 2),)]

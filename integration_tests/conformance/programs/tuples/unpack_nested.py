"""Unpacking, nested and with underscores."""

from typing import Tuple


def f(t: Tuple[int, Tuple[str, float]]):
    a, (b, c) = t
    _, d = t
    return a, b, c, d


calls = [((1, ("x", 2.5)),)]

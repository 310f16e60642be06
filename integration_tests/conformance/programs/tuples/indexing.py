"""Indexing by constants, negative too."""

from typing import Tuple


def f(t: Tuple[int, str, float]):
    return t[0], t[-1], t[1], len(t), t[0:2], t[1:], t[::-1]


calls = [((1, "a", 2.5),)]

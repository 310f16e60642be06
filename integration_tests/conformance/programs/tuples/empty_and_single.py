"""Tuples of none and of one."""

from typing import Tuple


def f(x: int):
    a = ()
    b = (x,)
    c: Tuple[()] = ()
    return a, b, c, len(a), len(b)


calls = [(1,)]

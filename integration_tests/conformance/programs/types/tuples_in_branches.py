"""Tuples unify element by element."""

from typing import Optional


def f(c: bool, n: Optional[int]):
    if c:
        t = (1, n)
    else:
        t = (2, None)
    return t


calls = [(True, 5), (False, 5), (True, None)]

"""A while's condition narrows its body."""

from typing import Optional


def f(x: Optional[int]):
    n = 0
    while x is not None:
        n += x
        x = x - 1 if x > 1 else None
    return n


calls = [(3,), (None,)]

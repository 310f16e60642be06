"""is None and is not None narrow the type."""

from typing import Optional


def f(x: Optional[int]):
    if x is None:
        return -1
    return x + 1


def g(x: Optional[int]):
    if x is not None:
        y = x + 1
    else:
        y = 0
    return y


calls = {"f": [(None,), (3,)], "g": [(None,), (3,)]}

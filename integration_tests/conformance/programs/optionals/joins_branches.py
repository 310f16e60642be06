"""A variable that is None in one branch and a value in the other."""

from typing import Optional


def f(c: bool):
    x: Optional[int] = None
    if c:
        x = 4
    y = 3 if x is not None else None
    return x, y


calls = [(True,), (False,)]

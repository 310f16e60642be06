"""assert narrows the type."""

from typing import Optional


def f(x: Optional[int]):
    assert x is not None
    return x + 1


def g(x: Optional[int]):
    assert x is not None, "x is needed"
    return x * 2


calls = {"f": [(3,), (None,)], "g": [(3,), (None,)]}

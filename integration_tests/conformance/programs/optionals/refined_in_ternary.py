"""A choice narrows both sides."""

from typing import Optional


def f(x: Optional[int]):
    return x + 1 if x is not None else -1


calls = [(1,), (None,)]

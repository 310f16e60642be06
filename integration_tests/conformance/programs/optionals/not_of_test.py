"""not (x is None) narrows too."""

from typing import Optional


def f(x: Optional[int]):
    if not (x is None):
        return x + 1
    return 0


calls = [(1,), (None,)]

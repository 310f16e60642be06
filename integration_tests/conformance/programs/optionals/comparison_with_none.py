"""== None is not is None."""

from typing import Optional


def f(x: Optional[int]):
    return x == None


calls = [(None,), (1,)]

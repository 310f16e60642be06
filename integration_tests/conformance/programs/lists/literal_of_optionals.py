"""A literal with None in it."""

from typing import List, Optional


def f(x: Optional[int]):
    l: List[Optional[int]] = [1, None, x]
    return l


calls = [(3,), (None,)]

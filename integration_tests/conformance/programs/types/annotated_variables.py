"""Declared variables keep their type."""

from typing import List, Optional, Tuple


def f(x: int):
    a: float = 1.5
    b: Optional[int] = x
    b = None
    c: List[float] = [a, 2.0]
    d: Tuple[int, Optional[str]] = (x, None)
    return a, b, c, d


calls = [(1,)]

"""None as a value: in lists, tuples, as a result."""

from typing import List, Optional


def f(x: Optional[str]):
    a: Optional[int] = None
    l: List[Optional[str]] = [x, None]
    t = (None, x)
    return a, l, t, None, x is None


calls = [("a",), (None,)]

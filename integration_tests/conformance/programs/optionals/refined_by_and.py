"""and narrows its right side, or too."""

from typing import Optional


def f(x: Optional[int], y: Optional[int]):
    if x is not None and y is not None and x > y:
        return x - y
    if x is None or x > 100:
        return 0
    return x


calls = [(5, 3), (None, 3), (5, None), (200, None)]

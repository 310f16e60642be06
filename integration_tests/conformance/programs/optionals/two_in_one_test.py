"""Both tested in one condition with or."""

from typing import Optional


def f(x: Optional[int], y: Optional[str]):
    if x is None or y is None:
        return "none"
    return y + str(x)


calls = [(1, "a"), (None, "a"), (1, None)]

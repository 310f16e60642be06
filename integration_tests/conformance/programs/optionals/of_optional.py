"""Optional of an Optional is one."""

from typing import Optional


def f(x: Optional[Optional[int]]):
    y: Optional[int] = x
    return y is None


calls = [(None,), (1,)]

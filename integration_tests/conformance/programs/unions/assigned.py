"""A variable declared as a Union takes each of its types."""

from typing import Union


def f(c: int):
    x: Union[int, str] = 1
    if c == 1:
        x = "a"
    elif c == 2:
        x = 5
    return isinstance(x, str), x


calls = [(0,), (1,), (2,)]

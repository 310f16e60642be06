"""isinstance with a tuple of types."""

from typing import Union


def f(x: Union[int, float, str]):
    if isinstance(x, (int, float)):
        return "number"
    return "text"


calls = [(1,), (1.5,), ("x",)]

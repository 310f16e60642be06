"""assert isinstance narrows."""

from typing import Union


def f(x: Union[int, str]):
    assert isinstance(x, int), "an int"
    return x + 1


calls = [(1,), ("a",)]

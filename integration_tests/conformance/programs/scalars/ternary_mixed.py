"""A choice between an int and a float."""

from typing import Union


def f(a: bool):
    x: Union[int, float] = 1 if a else 2.5
    return x


calls = [(True,), (False,)]

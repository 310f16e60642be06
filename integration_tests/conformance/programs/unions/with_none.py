"""A Union with None."""

from typing import Union


def f(x: Union[int, None, str]):
    if x is None:
        return "none"
    elif isinstance(x, str):
        return x
    return str(x)


calls = [(None,), ("a",), (1,)]

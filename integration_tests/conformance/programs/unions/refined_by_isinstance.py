"""isinstance narrows a Union."""

from typing import Union


def f(x: Union[int, str, float]):
    if isinstance(x, int):
        return x + 1
    elif isinstance(x, str):
        return len(x)
    else:
        return int(x)


calls = [(3,), ("abc",), (2.5,)]

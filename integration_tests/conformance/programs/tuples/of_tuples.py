"""tuple() of what is known."""

from typing import Tuple


def f(a: Tuple[int, str]):
    return tuple(a), tuple((1, 2))


calls = [((1, "x"),)]

"""An int where a float is declared."""

from typing import List, Optional


def f(x: float):
    return x * 2


def g(x: List[float]):
    return sum(x)


def h(x: Optional[float]):
    return x


calls = {"f": [(3,), (2.5,)], "g": [([1.5, 2.0],)], "h": [(None,), (1.5,)]}

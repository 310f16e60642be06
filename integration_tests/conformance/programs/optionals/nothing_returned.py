"""A function without return gives None."""

from typing import List


def f(x: List[int]):
    x.append(1)


def g(x: int) -> None:
    return


calls = {"f": [([],)], "g": [(1,)]}

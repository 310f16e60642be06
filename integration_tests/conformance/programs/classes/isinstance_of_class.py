"""isinstance with classes of one's own."""

from typing import Union


class A:
    def __init__(self, x: int):
        self.x = x


class B:
    def __init__(self, y: str):
        self.y = y


def g(v: Union[A, B]) -> str:
    if isinstance(v, A):
        return "A" + str(v.x)
    else:
        return "B" + v.y


def f(n: int):
    return g(A(n)), g(B("b"))


calls = {"f": [(1,)]}

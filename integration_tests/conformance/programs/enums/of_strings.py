"""Enums of strings and floats."""

from enum import Enum


class S(Enum):
    A = "a"
    B = "b b"


class D(Enum):
    HALF = 0.5
    TWO = 2.0


def f(x: bool):
    s = S.A if x else S.B
    d = D.HALF if x else D.TWO
    return s.value + "!", d.value * 2, s.name + d.name


calls = [(True,), (False,)]

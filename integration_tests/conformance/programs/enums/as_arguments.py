"""Enums in functions, lists and classes."""

from enum import Enum


class Mode(Enum):
    ADD = 0
    MUL = 1


class Op:
    def __init__(self, m: Mode):
        self.m = m

    def go(self, a: int, b: int) -> int:
        if self.m == Mode.ADD:
            return a + b
        return a * b


def pick(n: int) -> Mode:
    return [Mode.ADD, Mode.MUL][n]


def f(n: int):
    return Op(pick(n)).go(3, 4), Mode.ADD in [Mode.MUL], len([Mode.ADD, Mode.ADD])


calls = {"f": [(0,), (1,), (2,)]}

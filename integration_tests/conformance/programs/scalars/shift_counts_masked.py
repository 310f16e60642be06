"""Shifts mask their count, as the processor does."""


def f(a: int, b: int):
    return a << b, a >> b


calls = [(7, 3), (7, 64), (7, 70), (-8, 1), (1, 63), (-1, 63), (5, 0)]

"""fmod by zero."""

import math


def f(a: float, b: float):
    return math.fmod(a, b)


def g(a: int, b: int):
    return math.fmod(a, b)


calls = {"f": [(1.0, 0.0), (float("inf"), 2.0)], "g": [(7, 3), (-7, 3)]}

"""frexp, ldexp, modf."""

import math


def f(a: float):
    return math.frexp(a), math.modf(a)


def g(a: float, n: int):
    return math.ldexp(a, n)


calls = {"f": [(8.5,), (-0.3,), (0.0,), (1e308,), (float("inf"),)], "g": [(0.5, 4), (1.0, -1074), (1.0, 2000)]}

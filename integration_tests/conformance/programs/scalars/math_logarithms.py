"""Logarithms of positive numbers."""

import math


def f(a: float):
    return math.log(a), math.log10(a), math.log1p(a), math.sqrt(a)


def g(a: int):
    return math.log(a), math.log10(a), math.sqrt(a)


def h(a: float, b: float):
    return math.log(a, b)


calls = {"f": [(2.0,), (0.5,), (float("inf"),)], "g": [(8,), (1,)], "h": [(8.0, 2.0), (9.0, 3.0)]}

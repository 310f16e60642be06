"""Inverse functions inside of their domain."""

import math


def f(a: float):
    return math.acos(a), math.asin(a), math.atan(a), math.acosh(a + 1.5), math.atanh(a), math.asinh(a)


calls = [(0.5,), (-0.5,), (0.0,)]

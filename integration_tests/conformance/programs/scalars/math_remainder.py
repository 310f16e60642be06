"""math.remainder is IEEE's, not %."""

import math


def f(a: float, b: float):
    return math.remainder(a, b)


calls = [(5.0, 3.0), (-5.0, 3.0), (7.5, 5.0), (1.0, float("inf"))]

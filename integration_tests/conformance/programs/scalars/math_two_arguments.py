"""atan2, copysign, fmod and pow of floats."""

import math


def f(a: float, b: float):
    return math.atan2(a, b), math.copysign(a, b), math.fmod(a, b), math.pow(a, b)


calls = [(1.0, 2.0), (-1.0, 2.0), (3.5, -2.0), (0.0, -0.0), (5.0, 3.0)]

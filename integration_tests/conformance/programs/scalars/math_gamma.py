"""gamma and lgamma."""

import math


def f(a: float):
    return math.gamma(a), math.lgamma(a)


calls = [(0.5,), (5.0,), (-0.5,), (171.0,), (200.0,), (float("inf"),)]

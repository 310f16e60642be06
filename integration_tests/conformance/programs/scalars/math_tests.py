"""isnan, isinf, isfinite."""

import math


def f(a: float):
    return math.isnan(a), math.isinf(a), math.isfinite(a)


calls = [(0.0,), (float("inf"),), (float("-inf"),), (float("nan"),)]

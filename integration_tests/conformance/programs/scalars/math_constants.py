"""math's constants."""

import math


def f():
    return math.pi, math.e, math.inf, math.nan, math.tau


calls = [()]

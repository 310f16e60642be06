"""gcd and factorial."""

import math


def f(a: int, b: int):
    return math.gcd(a, b)


def g(a: int):
    return math.factorial(a)


calls = {
    "f": [(12, 18), (-12, 18), (0, 5), (0, 0), (-9223372036854775808, 6)],
    "g": [(0,), (5,), (20,), (21,), (25,), (-1,)],
}

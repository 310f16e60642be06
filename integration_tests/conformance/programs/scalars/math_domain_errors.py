"""Arguments outside of a function's domain."""

import math


def f(a: float):
    return math.log(a)


def g(a: float):
    return math.sqrt(a)


def h(a: float):
    return math.acos(a)


def i(a: float):
    return math.atanh(a)


def j(a: int):
    return math.log(a)


def k(a: float):
    return math.log1p(a)


calls = {
    "f": [(-1.0,), (0.0,)],
    "g": [(-1.0,)],
    "h": [(2.0,)],
    "i": [(1.0,), (2.0,)],
    "j": [(0,), (-3,)],
    "k": [(-1.0,), (-2.0,)],
}

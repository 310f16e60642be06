"""floor and ceil of what no int can hold raise."""

import math


def f(a: float):
    return math.floor(a)


def g(a: float):
    return math.ceil(a)


calls = {
    "f": [(2.7,), (-2.7,), (1e30,), (float("nan"),), (float("inf"),)],
    "g": [(2.2,), (-2.2,), (1e30,), (float("-inf"),)],
}

"""abs of ints, floats, and the int that has none."""


def f(a: int):
    return abs(a)


def g(a: float):
    return abs(a)


calls = {"f": [(-3,), (3,), (0,), (-9223372036854775808,)], "g": [(-0.0,), (-2.5,), (float("-inf"),), (float("nan"),)]}

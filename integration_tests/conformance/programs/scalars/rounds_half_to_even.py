"""round gives a float, half to even."""


def f(a: float):
    return round(a)


def g(a: int):
    return round(a)


calls = {"f": [(0.5,), (1.5,), (2.5,), (-0.5,), (-1.5,), (1e300,), (float("nan"),)], "g": [(3,), (-4,)]}

"""A negative base with a fraction for its exponent, and zero to a negative power."""


def f(a: float, b: float):
    return a**b


calls = [(-8.0, 0.333), (0.0, -1.0), (-0.0, -3.0), (1.0, float("nan")), (float("-inf"), 3.0)]

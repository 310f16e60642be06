"""Arithmetic of complex with real numbers."""


def f(a: complex, b: float, c: int):
    return a + b, b + a, a * c, c * a, a - b, b - a, a / c, c / a, a == b


calls = [(1 + 2j, 2.0, 3), (0j + 1, 1.0, 1)]

"""Augmented assignments of numbers."""


def f(a: int, b: float):
    a += 3
    a -= 1
    a *= 4
    a //= 3
    a %= 5
    b /= 2
    b **= 2
    b += a
    return a, b


calls = [(10, 3.0), (-7, -1.5)]

"""Arithmetic of complex numbers."""


def f(a: complex, b: complex):
    return a + b, a - b, a * b, a / b, -a, a == b, a != b


calls = [(1 + 2j, 3 - 1j), (0j, 1j), (2.5 + 0j, 2.5 - 0j)]

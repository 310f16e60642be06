"""Powers with complex numbers."""


def f(a: complex, b: complex):
    return a**b


def g(a: complex, b: float):
    return a**b, b**a


calls = {"f": [(1 + 1j, 2 + 0j), (2j, 1j)], "g": [(1 + 1j, 2.0)]}

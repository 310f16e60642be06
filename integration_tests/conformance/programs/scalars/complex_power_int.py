"""A complex number to the power of an int."""


def f(a: complex, b: int):
    return a**b


calls = [(1j, 2), (1 + 1j, -1)]

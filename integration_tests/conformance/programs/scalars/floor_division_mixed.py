"""// and % between ints and floats."""


def f(a: int, b: float):
    return a // b, a % b, b // a, b % a


calls = [(7, 2.0), (-7, 2.5), (7, -2.5), (3, 0.1)]

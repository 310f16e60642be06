"""A bool where a number is declared."""


def f(a: int, b: float, c: complex):
    return a, b, c


calls = [(True, True, True), (False, 2, 3), (1, True, 2.5)]

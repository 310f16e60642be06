"""Calls with keywords and defaults."""


def g(a: int, b: int = 2, *, c: int = 3):
    return a * 100 + b * 10 + c


def f(x: int):
    return g(x), g(x, 5), g(x, c=7), g(b=1, a=x), g(x, 4, c=6)


calls = {"f": [(1,)]}

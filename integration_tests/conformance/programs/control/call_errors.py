"""Calls with a wrong keyword."""


def g(a: int, b: int = 2):
    return a + b


def f(x: int):
    return g(x, d=3)


calls = {"f": [(1,)]}

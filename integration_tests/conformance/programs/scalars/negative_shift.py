"""A negative shift count."""


def f(a: int, b: int):
    return a << b


def g(a: int, b: int):
    return a >> b


calls = {"f": [(8, -1)], "g": [(8, -1)]}

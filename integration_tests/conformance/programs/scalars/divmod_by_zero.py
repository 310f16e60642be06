"""divmod by zero raises ZeroDivisionError."""


def f(a: int, b: int):
    return divmod(a, b)


def g(a: float, b: float):
    return divmod(a, b)


def h(a: int, b: float):
    return divmod(a, b)


def i(a: float, b: int):
    return divmod(a, b)


calls = {"f": [(1, 0)], "g": [(1.0, 0.0)], "h": [(1, 0.0), (7, 2.5), (-7, 2.5)], "i": [(1.5, 0), (-7.5, 2)]}

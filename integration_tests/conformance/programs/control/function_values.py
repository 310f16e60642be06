"""Functions under other names."""


def g(x: int):
    return x + 1


def h(x: int):
    return x * 2


def f(x: int):
    p = g
    q = h
    return p(q(x))


calls = {"f": [(3,)]}

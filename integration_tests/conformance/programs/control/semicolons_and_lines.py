"""Statements on one line, lines continued."""


def f(a: int):
    b = 1
    c = 2
    d = a + b
    e = a + c
    if a > 0:
        d += 1
    return d, e


calls = [(3,), (0,)]

"""Exceptions without a message, with an empty one."""


def f(n: int):
    if n == 0:
        raise ValueError
    if n == 1:
        raise ValueError()
    if n == 2:
        raise ValueError("")
    return n


calls = [(0,), (1,), (2,)]

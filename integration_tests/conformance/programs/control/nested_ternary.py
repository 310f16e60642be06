"""Choices within choices."""


def f(a: int):
    return "neg" if a < 0 else "zero" if a == 0 else "small" if a < 10 else "big"


calls = [(-1,), (0,), (5,), (50,)]

"""Globals cannot be read."""

NUMBER = 5


def f(a: int):
    return a + NUMBER


calls = [(1,)]

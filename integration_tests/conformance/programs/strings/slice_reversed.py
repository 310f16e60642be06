"""A string reversed by a slice."""


def f(s: str):
    return s[::-1]


calls = [("abc",), ("",)]

"""split by an empty separator."""


def f(s: str):
    return s.split("")


calls = [("abc",)]

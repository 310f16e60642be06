"""An exception with a number."""


def f(n: int):
    raise ValueError(n)


calls = [(1,)]

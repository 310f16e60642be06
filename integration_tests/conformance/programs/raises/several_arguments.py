"""An exception with several arguments."""


def f(n: int):
    raise ValueError("a", n)


calls = [(1,)]

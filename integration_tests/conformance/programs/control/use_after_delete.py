"""A deleted variable is not there."""


def f(a: int):
    b = a + 1
    del b
    return b


calls = [(1,)]

"""A variable that changes its type."""


def f(x: int):
    y = x
    y = "a"
    return y


calls = [(1,)]

"""A literal of ints and floats."""


def f():
    return [1, 2.5]


calls = [()]

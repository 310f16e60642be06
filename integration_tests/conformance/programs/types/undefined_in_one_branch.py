"""A variable that one branch does not set cannot be read."""


def f(c: bool):
    if c:
        x = 1
    return x


calls = [(True,)]

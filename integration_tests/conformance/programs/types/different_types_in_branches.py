"""Branches that give different types."""


def f(c: bool):
    if c:
        x = 1
    else:
        x = "a"
    return x


calls = [(True,), (False,)]

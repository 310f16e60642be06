"""Returns of different types."""


def f(c: bool):
    if c:
        return 1
    return "a"


calls = [(True,)]

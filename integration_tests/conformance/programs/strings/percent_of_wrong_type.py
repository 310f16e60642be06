"""%d of a string."""


def f(a: str):
    return "%d" % a


calls = [("x",)]

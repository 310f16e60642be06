"""format with too few arguments."""


def f(a: int):
    return "{} {}".format(a)


calls = [(1,)]

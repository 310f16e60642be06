"""format with too many arguments."""


def f(a: int):
    return "{}".format(a, a, a)


calls = [(1,)]

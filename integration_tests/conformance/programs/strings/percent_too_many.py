"""% with too many arguments."""


def f(a: int):
    return "%d" % (a, a)


calls = [(1,)]

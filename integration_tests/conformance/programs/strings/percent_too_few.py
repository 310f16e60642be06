"""% with too few arguments."""


def f(a: int):
    return "%d %d" % a


calls = [(1,)]

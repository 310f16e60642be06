"""% with an unknown specifier."""


def f(a: int):
    return "%x" % a


calls = [(255,)]

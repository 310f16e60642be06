"""% with a width is not supported."""


def f(a: float):
    return "%.2f" % a


calls = [(2.5,)]

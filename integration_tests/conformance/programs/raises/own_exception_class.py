"""An exception class of one's own."""


class Mine(Exception):
    pass


def f(n: int):
    if n == 0:
        raise Mine("mine")
    return n


calls = [(0,), (1,)]

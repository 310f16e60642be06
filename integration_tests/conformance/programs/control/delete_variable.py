"""del of a variable."""


def f(a: int):
    b = a + 1
    del b
    return a


calls = [(1,)]

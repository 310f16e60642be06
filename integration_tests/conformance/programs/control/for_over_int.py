"""A for over an int."""


def f(n: int):
    s = 0
    for i in n:
        s += i
    return s


calls = [(3,)]

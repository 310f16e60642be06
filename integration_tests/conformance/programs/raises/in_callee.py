"""An exception in a function that a function calls."""


def g(n: int):
    if n > 2:
        raise ValueError("too much: " + str(n))
    return n


def f(n: int):
    s = 0
    for i in range(n):
        s += g(i)
    return s


calls = {"f": [(2,), (5,)]}

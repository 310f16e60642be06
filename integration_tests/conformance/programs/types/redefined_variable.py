"""A variable keeps its type outside of branches too, unless it is new."""


def f(x: int):
    y = x + 1
    y = y * 2
    z = str(y)
    return y, z


calls = [(1,)]

"""Exceptions of every class that Python has for it."""


def f(n: int):
    if n == 0:
        raise ValueError("value")
    if n == 1:
        raise RuntimeError("runtime")
    if n == 2:
        raise KeyError("key")
    if n == 3:
        raise IndexError("index")
    if n == 4:
        raise TypeError("type")
    if n == 5:
        raise NotImplementedError("not implemented")
    if n == 6:
        raise Exception("exception")
    if n == 7:
        raise AssertionError("assertion")
    if n == 8:
        raise AttributeError("attribute")
    return n


calls = [(0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,), (8,), (9,)]

"""Augmented assignments of bits."""


def f(a: int):
    a |= 8
    a &= 12
    a ^= 5
    a <<= 2
    a >>= 1
    return a


calls = [(3,), (15,)]

"""Arithmetic on bools turns them to ints, explicitly."""


def f(a: bool, b: int):
    return int(a) + b, float(a) * 2.5, a == True, a != False


calls = [(True, 3), (False, 4)]

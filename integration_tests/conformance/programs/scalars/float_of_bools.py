"""Casts between bool, int and float."""


def f(a: bool):
    return int(a), float(a), bool(a)


def g(a: int):
    return float(a), int(float(a))


calls = {"f": [(True,), (False,)], "g": [(9007199254740993,), (-1,)]}

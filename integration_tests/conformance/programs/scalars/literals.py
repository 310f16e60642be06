"""Literals of every sort."""


def f():
    return 0x1F, 0o17, 0b101, 1_000, 1e3, 1.5e-3, 0.5, 5.0, 1e20, 3j, 1 + 2j


calls = [()]

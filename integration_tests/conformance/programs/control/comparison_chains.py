"""Comparisons in a chain are all tested, each value once."""


def f(a: int, b: int, c: int):
    return a < b < c, a <= b == c, a < b > c, 0 <= a < 10, a == b == c


calls = [(1, 2, 3), (2, 2, 2), (3, 2, 1), (1, 5, 2)]

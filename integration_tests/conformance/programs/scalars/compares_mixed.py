"""Comparisons between ints and floats, at the edge of what a float can hold."""


def f(a: int, b: float):
    return a < b, a <= b, a > b, a >= b, a == b, a != b, b < a, b == a


calls = [(1, 1.0), (9007199254740993, 9007199254740992.0), (9223372036854775807, 9.3e18), (0, float("nan"))]

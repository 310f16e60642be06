"""Slices with a step."""


def f(s: str, a: int, b: int, c: int):
    return s[a:b:c]


calls = [("abcdef", 0, 6, 2), ("abcdef", 1, 5, 3), ("abcdef", 5, 0, -1), ("abcdef", 0, 6, 0), ("abcdef", 5, 0, -2)]

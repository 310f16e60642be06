"""Slices with and without steps."""


def f(s: str, a: int, b: int):
    return s[a:b], s[a:], s[:b], s[:], s[::2]


calls = [("abcdef", 1, 4), ("abcdef", -3, -1), ("abcdef", 4, 1), ("abcdef", -10, 10), ("", 0, 1)]

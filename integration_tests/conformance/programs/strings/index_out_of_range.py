"""Indexing past either end."""


def f(s: str, i: int):
    return s[i]


calls = [("abc", 3), ("abc", 10), ("abc", -4), ("", 0), ("", -1)]

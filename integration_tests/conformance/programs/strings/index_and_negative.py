"""Indexing by position, counted from either end."""


def f(s: str, i: int):
    return s[i]


calls = [("abc", 0), ("abc", -1), ("abc", -3)]

"""A string repeated."""


def f(a: str, n: int):
    return a * n


calls = [("ab", 3), ("ab", 0), ("ab", -1), ("", 5)]

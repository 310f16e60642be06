"""center, ljust, rjust, zfill."""


def f(s: str, n: int):
    return s.center(n), s.ljust(n), s.rjust(n), s.center(n, "*"), s.ljust(n, "."), s.rjust(n, "-"), s.zfill(n)


calls = [("ab", 5), ("ab", 6), ("abc", 6), ("", 3), ("abc", 2), ("-42", 6), ("+4", 5), ("a", -1)]

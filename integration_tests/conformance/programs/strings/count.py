"""count with bounds."""


def f(s: str, x: str, a: int, b: int):
    return s.count(x), s.count(x, a), s.count(x, a, b)


calls = [("aaaa", "aa", 0, 4), ("abcabc", "bc", 2, 6), ("abc", "x", 0, 3), ("abcabc", "c", -4, -1), ("", "a", 0, 0)]

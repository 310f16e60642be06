"""replace with and without a limit."""


def f(s: str, a: str, b: str, n: int):
    return s.replace(a, b), s.replace(a, b, n)


calls = [
    ("aaa", "a", "b", 2),
    ("abc", "x", "y", 1),
    ("abab", "ab", "", 1),
    ("aaa", "aa", "b", -1),
    ("", "a", "b", 0),
    ("aXa", "a", "aa", 1),
]

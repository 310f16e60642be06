"""startswith and endswith with bounds."""


def f(s: str, x: str, a: int, b: int):
    return s.startswith(x), s.endswith(x), s.startswith(x, a), s.startswith(x, a, b), s.endswith(x, a, b)


calls = [
    ("abcabc", "abc", 3, 6),
    ("abc", "", 0, 3),
    ("", "a", 0, 0),
    ("abc", "c", 2, 3),
    ("abc", "bc", -2, 10),
    ("abc", "a", 5, 2),
]

"""find and rfind with bounds."""


def f(s: str, x: str, a: int, b: int):
    return s.find(x), s.rfind(x), s.find(x, a), s.find(x, a, b), s.rfind(x, a, b)


calls = [
    ("abcabc", "bc", 2, 6),
    ("abcabc", "bc", 0, 3),
    ("abc", "", 0, 3),
    ("abc", "x", 0, 3),
    ("abcabc", "a", -3, -1),
    ("abc", "a", 10, 20),
    ("", "a", 0, 0),
    ("abcabc", "c", 5, 2),
]

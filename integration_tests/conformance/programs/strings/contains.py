"""in and not in."""


def f(a: str, b: str):
    return a in b, a not in b


calls = [("b", "abc"), ("", "abc"), ("x", "abc"), ("", ""), ("abc", "ab")]

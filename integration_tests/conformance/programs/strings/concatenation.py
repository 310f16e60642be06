"""+, *, += and comparison of strings."""


def f(a: str, b: str):
    c = a + b
    c += "!"
    return c, a == b, a != b, a < b, a <= b, a > b, a >= b


calls = [("a", "b"), ("b", "a"), ("", ""), ("Z", "a"), ("abc", "ab")]

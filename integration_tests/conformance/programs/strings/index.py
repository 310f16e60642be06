"""index and rindex raise where nothing is found."""


def f(s: str, x: str):
    return s.index(x), s.rindex(x)


calls = [("abcabc", "bc"), ("abc", "x"), ("abc", "")]

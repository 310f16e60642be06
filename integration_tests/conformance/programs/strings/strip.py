"""strip, lstrip, rstrip, with and without characters."""


def f(s: str, c: str):
    return s.strip(), s.lstrip(), s.rstrip(), s.strip(c), s.lstrip(c), s.rstrip(c)


calls = [("  ab  ", " a"), ("xxabxx", "x"), ("", "x"), ("aaa", "a"), ("\t\n a\r ", "z"), ("abc", "")]

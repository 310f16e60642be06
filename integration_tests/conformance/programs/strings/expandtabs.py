"""expandtabs."""


def f(s: str, n: int):
    return s.expandtabs(), s.expandtabs(n)


calls = [("a\tb", 4), ("\t", 3), ("ab\tc\td", 1), ("a\n\tb", 4), ("a\tb", 0)]

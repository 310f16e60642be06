"""split with a limit."""


def f(s: str, sep: str, n: int):
    return s.split(sep, n), s.rsplit(sep, n)


calls = [("a,b,c,d", ",", 2), ("a,b,c,d", ",", 0), ("a,b,c,d", ",", -1), ("a,b,c,d", ",", 10), (",,", ",", 1)]

"""partition and rpartition."""


def f(s: str, sep: str):
    return s.partition(sep), s.rpartition(sep)


calls = [("a.b.c", "."), ("abc", "."), ("", "."), (".a", "."), ("a..b", "..")]

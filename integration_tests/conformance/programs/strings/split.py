"""split by a separator."""


def f(s: str, sep: str):
    return s.split(sep)


calls = [("a,b,,c", ","), ("", ","), (",", ","), ("abc", "x"), ("aXXbXXc", "XX"), ("a,b", ",")]

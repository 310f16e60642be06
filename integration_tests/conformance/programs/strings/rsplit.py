"""rsplit by a separator."""


def f(s: str, sep: str):
    return s.rsplit(sep)


calls = [("a,b,,c", ","), ("", ","), ("aXXb", "XX"), ("XaX", "X")]

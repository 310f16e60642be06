"""f-strings with a conversion are not supported."""


def f(c: str):
    return f"{c!r}"


calls = [("x",)]

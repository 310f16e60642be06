"""f-strings with a format specification are not supported."""


def f(c: float):
    return f"{c:.2f}"


calls = [(2.5,)]

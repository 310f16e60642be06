"""float() of strings: no spaces around, no underscores."""


def f(s: str):
    return float(s)


calls = [
    ("1.5",),
    ("-0",),
    ("1e3",),
    ("inf",),
    ("-inf",),
    ("nan",),
    (" 1.5 ",),
    ("1_0",),
    ("abc",),
    ("",),
    ("1.5x",),
    ("infinity",),
    ("0x10",),
]

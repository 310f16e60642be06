"""A literal that is not ASCII."""


def f(s: str):
    return "h\u00e9llo" + s, len("\u00e9"), s == "\u00e9"


calls = [("\u00e9",), ("x",)]

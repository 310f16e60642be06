"""hash of a string, an empty one too."""


def f(s: str):
    return hash(s)


calls = [("",), ("a",), ("hearth",), ("h\u00e9",)]

"""len counts bytes."""


def f(s: str):
    return len(s)


calls = [("abc",), ("",), ("h\u00e9",), ("\u6f22\u5b57",), ("a\x00b",)]

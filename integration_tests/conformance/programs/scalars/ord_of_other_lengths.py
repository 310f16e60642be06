"""ord of a string that is not one byte long."""


def f(s: str):
    return ord(s)


calls = [("",), ("ab",), ("\u00e9",)]

"""complex() of a string is not known."""


def f(x: str):
    return complex(x)


calls = [("1j",)]

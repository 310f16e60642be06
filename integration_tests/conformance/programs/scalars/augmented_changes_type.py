"""/= of an int gives a float."""


def f(a: int):
    b = a
    b /= 2
    return b


calls = [(3,)]

"""format's places with numbers or specifications stay as they are."""


def f(a: int, b: float):
    return "{0} {1}".format(a, b), "{:.2f}".format(b), "{0:>5}".format(a)


calls = [(1, 2.5)]

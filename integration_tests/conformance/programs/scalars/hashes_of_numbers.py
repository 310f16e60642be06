"""hash of numbers: an int is itself."""


def f(a: int, b: float, c: bool):
    return hash(a), hash(b), hash(c)


calls = [(5, 2.5, True), (-1, 0.0, False), (2**61, 1e300, True)]

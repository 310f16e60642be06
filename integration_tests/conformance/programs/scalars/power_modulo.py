"""pow with three arguments."""


def f(a: int, b: int, c: int):
    return pow(a, b, c)


calls = [(3, 4, 5)]

"""round with a number of digits."""


def f(a: float, n: int):
    return round(a, n)


calls = [(2.675, 2), (1234.5, -2), (-1.25, 1), (1e22, 3)]

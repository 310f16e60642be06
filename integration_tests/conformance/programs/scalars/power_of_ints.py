"""** and pow of ints give floats."""


def f(a: int, b: int):
    return a**b, pow(a, b)


calls = [(7, 2), (2, -1), (0, 0), (-2, 3), (10, 18), (2, 63), (-1, 1000)]

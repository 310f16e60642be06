"""A list literal repeated."""


def f(n: int):
    return [0] * n, [1.5, 2.0] * 2, [True] * n


calls = [(3,), (0,)]

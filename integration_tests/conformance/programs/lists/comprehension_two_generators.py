"""A comprehension with two generators."""


def f(n: int):
    return [i * j for i in range(n) for j in range(n)]


calls = [(3,)]

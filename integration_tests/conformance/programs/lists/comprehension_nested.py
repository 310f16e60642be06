"""A comprehension in a comprehension."""


def f(n: int):
    return [[i * j for j in range(i)] for i in range(n)]


calls = [(3,), (0,)]

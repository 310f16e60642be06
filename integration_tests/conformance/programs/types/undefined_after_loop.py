"""A variable that only a loop sets cannot be read after it."""


def f(n: int):
    for i in range(n):
        x = i
    return x


calls = [(3,)]

"""A return out of while True."""


def f(n: int) -> int:
    i = 0
    while True:
        i += 1
        if i * i > n:
            return i


calls = [(10,), (0,)]

"""raise from."""


def f(n: int):
    if n == 0:
        raise ValueError("a") from None
    return n


calls = [(0,), (1,)]

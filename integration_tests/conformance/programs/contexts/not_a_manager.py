"""with of what is no context manager."""


def f(x: int):
    with x:
        y = 1
    return y


calls = [(1,)]

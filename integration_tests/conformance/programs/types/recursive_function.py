"""A function that calls itself."""


def f(n: int) -> int:
    if n <= 1:
        return 1
    return n * f(n - 1)


calls = [(5,)]

"""A loop that breaks long before its count."""


def f(n: int):
    s = 0
    for i in range(9223372036854775807):
        s += i
        if i >= n:
            break
    return s


calls = [(10,)]

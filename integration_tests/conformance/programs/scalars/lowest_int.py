"""The lowest int as a literal."""


def f(a: int):
    return a == -9223372036854775808, -9223372036854775808 + a


calls = [(0,), (-9223372036854775808,)]

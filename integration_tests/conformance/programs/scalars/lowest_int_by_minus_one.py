"""Torch dies of INT64_MIN // -1 (SIGFPE); hearth raises."""


def f(a: int, b: int):
    return a // b


def h(a: int, b: int):
    return divmod(a, b)


overflow = "RuntimeError: integer overflow in division"
lowest = -9223372036854775808
calls = {"f": [{"args": (lowest, -1), "raises": overflow}], "h": [{"args": (lowest, -1), "raises": overflow}]}

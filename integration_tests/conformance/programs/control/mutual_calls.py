"""Functions defined in any order."""


def f(x: int) -> int:
    return later(x) + 1


def later(x: int) -> int:
    return x * 2


calls = {"f": [(3,)]}

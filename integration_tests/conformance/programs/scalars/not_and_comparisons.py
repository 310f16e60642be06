"""not binds weaker than comparisons."""


def f(a: int, b: int):
    return not a == b, not a < b and b > 0, not (a or b)


calls = [(1, 2), (2, 2), (0, 0)]

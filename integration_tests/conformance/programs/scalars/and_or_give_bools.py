"""and, or of numbers: both sides are turned to bools."""


def f(a: bool, b: bool):
    return a and b, a or b


def g(a: int, b: int):
    return a and b, a or b


calls = {"f": [(True, False), (False, True)], "g": [(3, 0), (0, 4), (5, 6)]}

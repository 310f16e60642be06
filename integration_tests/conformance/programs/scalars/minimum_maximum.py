"""min and max of two numbers of every kind."""


def f(a: int, b: int):
    return min(a, b), max(a, b)


def g(a: float, b: float):
    return min(a, b), max(a, b)


def h(a: int, b: float):
    return min(a, b), max(a, b), min(b, a), max(b, a)


calls = {
    "f": [(1, 2), (2, 1), (-1, -1)],
    "g": [(float("nan"), 1.0), (1.0, float("nan")), (0.0, -0.0)],
    "h": [(1, 2.5), (3, 2.5)],
}

"""bool() of numbers."""


def f(a: int, b: float):
    return bool(a), bool(b), not a, not b


calls = [(0, 0.0), (5, -0.0), (-1, float("nan"))]

"""// and % of floats floor too; infinities and signed zeros."""


def f(a: float, b: float):
    return a // b, a % b, divmod(a, b)


calls = [
    (7.5, 2.0),
    (-7.5, 2.0),
    (7.5, -2.0),
    (-0.0, 2.0),
    (1e308, 1e-308),
    (float("inf"), 2.0),
    (5.0, float("inf")),
    (-5.0, float("inf")),
    (float("nan"), 1.0),
]

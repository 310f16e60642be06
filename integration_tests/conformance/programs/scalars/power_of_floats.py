"""** with floats, also where the result is complex in Python."""


def f(a: float, b: float):
    return a**b


def g(a: int, b: float):
    return a**b


def h(a: float, b: int):
    return a**b


calls = {
    "f": [(2.0, 0.5), (-8.0, 2.0), (0.0, 0.0), (float("inf"), 0.0)],
    "g": [(2, 0.5), (-2, 2.0)],
    "h": [(2.5, 2), (2.5, -2)],
}

"""/ by zero gives inf or nan, // by zero raises."""


def f(a: int, b: int):
    return a / b


def g(a: float, b: float):
    return a / b


def h(a: int, b: int):
    return a // b


def i(a: float, b: float):
    return a // b


def j(a: float, b: float):
    return a % b


calls = {
    "f": [(1, 0), (0, 0), (-1, 0)],
    "g": [(1.0, 0.0), (0.0, 0.0), (-1.0, 0.0), (1.0, -0.0)],
    "h": [(1, 0), (0, 0)],
    "i": [(1.0, 0.0), (-1.0, 0.0), (0.0, 0.0)],
    "j": [(1.0, 0.0), (0.0, 0.0)],
}

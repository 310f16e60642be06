"""Torch dies of int % 0 (SIGFPE); hearth raises."""


def f(a: int, b: int):
    return a % b


calls = [
    {"args": (1, 0), "raises": "RuntimeError: ZeroDivisionError: integer division or modulo by zero"},
    {"args": (0, 0), "raises": "RuntimeError: ZeroDivisionError: integer division or modulo by zero"},
    (7, 3),
]

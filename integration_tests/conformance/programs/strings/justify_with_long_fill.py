"""center with a fill that is not one character."""


def f(s: str, fill: str):
    return s.center(6, fill)


def g(s: str, fill: str):
    return s.ljust(6, fill)


calls = {"f": [("ab", "xy"), ("ab", "")], "g": [("ab", "xy"), ("ab", "")]}

"""upper, lower, title, capitalize, swapcase: ASCII only."""


def f(s: str):
    return s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase()


calls = [("hello World",), ("",), ("they're bill's",), ("ABC-def 1st",), ("h\u00e9llo \u00c9",), ("x1y2z",), ("\ta b",)]

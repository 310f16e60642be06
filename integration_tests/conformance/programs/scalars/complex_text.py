"""A complex number as text."""


def f(a: complex):
    return str(a), "{}".format(a), [a, a]


calls = [(1 + 2j,), (0j,), (-1.5 - 0.25j,), (complex(float("inf"), float("nan")),)]

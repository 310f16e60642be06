"""complex() of numbers of every kind."""


def f(a: int, b: float, c: bool):
    return complex(a), complex(b), complex(a, b), complex(b, a), complex(c, a), complex(a, a)


calls = [(1, 2.5, True), (0, -0.0, False)]

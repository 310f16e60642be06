"""Properties with and without setters."""


class T:
    def __init__(self, c: float):
        self.c = c

    @property
    def f(self) -> float:
        return self.c * 9 / 5 + 32

    @f.setter
    def f(self, v: float):
        self.c = (v - 32) * 5 / 9

    @property
    def half(self) -> float:
        return self.c / 2


def f(c: float):
    t = T(c)
    a = t.f
    t.f = 212.0
    t.f += 1.8
    return a, t.c, t.half


calls = [(0.0,), (37.5,)]

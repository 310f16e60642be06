"""An attribute keeps its type."""


class R:
    def __init__(self, x: int):
        self.x = x


def f(n: int):
    r = R(n)
    r.x = "a"
    return r.x


calls = [(2,)]

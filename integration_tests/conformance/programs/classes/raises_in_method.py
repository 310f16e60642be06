"""Exceptions through methods."""


class R:
    def __init__(self, x: int):
        if x < 0:
            raise ValueError("negative: " + str(x))
        self.x = x


def f(n: int):
    return R(n).x


calls = [(2,), (-1,)]

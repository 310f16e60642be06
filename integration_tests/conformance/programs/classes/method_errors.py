"""A call of a method that is not there."""


class R:
    def __init__(self, x: int):
        self.x = x


def f(n: int):
    return R(n).nothing()


calls = [(2,)]

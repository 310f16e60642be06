"""An object as a result is its attributes."""


class R:
    def __init__(self, x: int):
        self.x = x
        self.y = [x, x]


def f(n: int):
    return R(n).y


calls = [(2,)]

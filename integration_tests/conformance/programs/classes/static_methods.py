"""Static methods, called on the class."""


class M:
    @staticmethod
    def twice(x: int) -> int:
        return x * 2

    def __init__(self, x: int):
        self.x = M.twice(x)

    def go(self) -> int:
        return M.twice(self.x)


def f(x: int):
    return M.twice(x), M(x).go()


calls = [(3,)]

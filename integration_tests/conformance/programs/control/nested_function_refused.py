"""A function in a function is not compiled."""


def f(a: int):
    def g(x: int):
        return x + 1

    return g(a)


calls = [(1,)]

"""lambda is not TorchScript's."""


def f(a: int):
    g = lambda x: x + 1
    return g(a)


calls = [(1,)]

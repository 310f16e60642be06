"""else after a loop is not TorchScript's."""


def f(n: int):
    for i in range(n):
        pass
    else:
        n = 7
    return n


calls = [(3,)]

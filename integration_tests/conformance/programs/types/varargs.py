"""*args are not TorchScript's."""


def f(*args: int):
    return args


calls = [(1,)]

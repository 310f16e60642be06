"""A bool is no int to TorchScript's operators."""


def f(a: bool, b: int):
    return a + b


calls = [(True, 3)]

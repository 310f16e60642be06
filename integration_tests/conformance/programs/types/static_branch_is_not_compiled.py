"""A branch that types rule out is not compiled."""


def f(x: int):
    if isinstance(x, str):
        return x.no_such_method()
    return x + 1


calls = [(1,)]

"""assert with and without a message."""


def f(n: int):
    assert n > 0
    assert n > 1, "more than one"
    assert n > 2, f"more than two, not {n}"
    return n


calls = [(0,), (1,), (2,), (3,)]

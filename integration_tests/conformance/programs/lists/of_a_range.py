"""list() of a range, and of other things that are walked over."""


def f(n: int):
    return list(range(n)), list(range(n, 0, -1)), list("abc"), list((1, 2)), list([3, 4])


calls = [(3,), (0,)]

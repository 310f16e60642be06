"""Code after raise, and a function that only raises."""


def g(n: int) -> int:
    raise NotImplementedError("g")


def f(n: int):
    if n > 0:
        return n
    return g(n)


calls = {"f": [(1,), (0,)]}

"""A class with object for its base, and a docstring."""


class A(object):
    """Counts."""

    def __init__(self, n: int):
        """Starts."""
        self.n = n

    def next(self) -> int:
        self.n += 1
        return self.n


def f(n: int):
    a = A(n)
    a.next()
    return a.next(), a.n


calls = [(1,)]

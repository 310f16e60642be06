"""+= of an object with __iadd__ and without."""


class A:
    def __init__(self, x: int):
        self.x = x

    def __iadd__(self, k: int) -> "A":
        self.x += k
        return self


class B:
    def __init__(self, x: int):
        self.x = x

    def __add__(self, k: int) -> "B":
        return B(self.x + k)


def f(n: int):
    a = A(n)
    a2 = a
    a += 5
    b = B(n)
    b2 = b
    b += 5
    return a.x, a2.x, b.x, b2.x


calls = [(1,)]

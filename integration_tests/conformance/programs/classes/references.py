"""Objects are references."""


class Box:
    def __init__(self, v: int):
        self.v = v


def change(b: Box):
    b.v += 1


def f(n: int):
    a = Box(n)
    b = a
    l = [a, b, Box(n)]
    for x in l:
        change(x)
    return a.v, b.v, l[2].v, a is b, a is l[2], a is not b


calls = {"f": [(1,)]}

"""print and warnings run and give nothing."""


def f(x: int):
    print("x is", x, [x], 1.5)
    print()
    return x


calls = [(1,)]

"""A long chain of elif."""


def f(x: int):
    if x == 0:
        r = "zero"
    elif x == 1:
        r = "one"
    elif x < 0:
        r = "negative"
    elif x % 2 == 0:
        r = "even"
    else:
        r = "odd"
    return r


calls = [(0,), (1,), (-4,), (8,), (9,)]

"""A variable that changes its type in a loop."""


def f(x: int):
    y = x
    for i in range(3):
        y = "a"
    return y


calls = [(1,)]

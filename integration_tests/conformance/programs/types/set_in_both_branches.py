"""Set in both branches, or one raises."""


def f(c: int):
    if c == 0:
        x = 1
        y = "a"
    elif c == 1:
        x = 2
        y = "b"
    else:
        raise RuntimeError("no")
    return x, y


calls = [(0,), (1,), (2,)]

"""range with step 0 raises."""


def f(a: int):
    s = 0
    for i in range(0, 5, a):
        s += i
    return s


calls = [(0,), (2,)]

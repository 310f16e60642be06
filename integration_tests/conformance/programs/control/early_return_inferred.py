"""Early returns without a declared type."""


def f(x: int):
    if x > 10:
        return "big"
    elif x > 5:
        return "middle"
    for i in range(x):
        if i == 3:
            return "three"
    return "small"


calls = [(20,), (7,), (5,), (1,)]

"""What follows a return is not run."""


def f(a: int):
    return a
    a = 5
    return a + 1


calls = [(3,)]

"""&, |, ^ and ~ of ints; &, |, ^ of bools."""


def f(a: int, b: int):
    return a & b, a | b, a ^ b, ~a


def g(a: bool, b: bool):
    return a & b, a | b, a ^ b


calls = {"f": [(12, 10), (-1, 5), (0, 0)], "g": [(True, False), (True, True), (False, False)]}

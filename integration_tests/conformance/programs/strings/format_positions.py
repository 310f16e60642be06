"""format by position."""


def f(a: int, b: str, c: float):
    return "{} {} {}".format(a, b, c), "{}-{}".format(b, a), "no places".format(a), "{{}} {}".format(a)


calls = [(1, "x", 2.5), (-3, "", 1e20)]

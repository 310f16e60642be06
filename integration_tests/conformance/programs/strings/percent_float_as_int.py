"""%d of a float, %f of an int."""


def f(a: float, b: int):
    return "%d" % a, "%f" % b, "%s %s" % (a, b), "%e" % b


calls = [(2.7, 3), (-2.7, 0)]

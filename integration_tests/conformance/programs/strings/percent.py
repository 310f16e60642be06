"""% with the specifiers that TorchScript knows."""


def f(a: int, b: float, c: str):
    return "%d" % a, "%s" % c, "%f" % b, "%e" % b, "%i" % a, "%d %s" % (a, c), "100%%", "%d%%" % a, "%c" % a


calls = [(65, 2.5, "x"), (66, -1e10, "")]

"""An attribute that __init__ does not make cannot be set."""


class C:
    def __init__(self):
        self.a = 1


def f():
    c = C()
    c.b = 2
    return c.a


calls = [()]

"""An attribute that __init__ makes in a branch only."""


class C:
    def __init__(self, x: bool):
        if x:
            self.a = 1
        else:
            self.a = 2


def f(x: bool):
    return C(x).a


calls = [(True,)]

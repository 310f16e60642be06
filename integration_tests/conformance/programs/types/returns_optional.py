"""Returns that unify."""


def f(c: bool):
    if c:
        return 1
    return None


calls = [(True,), (False,)]

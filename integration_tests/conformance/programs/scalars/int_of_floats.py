"""int() of a float truncates; of nan and of what is too large it gives the lowest int."""


def f(a: float):
    return int(a)


calls = [(2.9,), (-2.9,), (0.0,), (-0.5,), (1e18,)]

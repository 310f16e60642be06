"""int() of what no int can hold."""


def f(a: float):
    return int(a)


calls = [(1e30,), (-1e30,), (float("nan"),), (float("inf"),)]

"""The declared result's type is checked."""


def f(x: int) -> str:
    return x


calls = [(1,)]

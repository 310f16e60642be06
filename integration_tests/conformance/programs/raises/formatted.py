"""A message that is put together."""


def f(n: int, s: str):
    raise ValueError("got {} and {}".format(n, s))


def g(n: int, s: str):
    raise RuntimeError(f"got {n}: {s}")


def h(n: int, s: str):
    raise IndexError("got %d" % n + s)


calls = {"f": [(1, "a")], "g": [(2, "b\nc")], "h": [(3, "\u00e9")]}

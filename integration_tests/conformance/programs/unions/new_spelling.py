"""int | str."""


def f(x: "int | str | None"):
    if isinstance(x, int):
        return 1
    return 2


calls = [(1,), ("a",), (None,)]

"""Methods in a chain."""


def f(s: str):
    return s.strip().split(",")[0].upper().replace("A", "b").center(7, "*")


calls = [(" apple, pear ",), ("",)]

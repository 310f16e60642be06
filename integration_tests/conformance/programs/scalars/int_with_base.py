"""int() with a base."""


def f(s: str, base: int):
    return int(s, base)


calls = [("ff", 16), ("0xff", 16), ("1010", 2), ("z", 36), ("12", 0), ("0x1f", 0), ("8", 8), ("11", 1), ("11", 37)]

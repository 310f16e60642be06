"""hex, oct, bin, chr, ord."""


def f(a: int):
    return hex(a), oct(a), bin(a)


def g(a: int):
    return chr(a)


def h(s: str):
    return ord(s)


calls = {
    "f": [(255,), (0,), (-255,), (-9223372036854775808,), (9223372036854775807,)],
    "g": [(65,), (0,), (300,), (10,)],
    "h": [("A",), ("\n",)],
}

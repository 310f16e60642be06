"""Parts of a complex number."""


def f(a: complex):
    return a.real, a.imag, abs(a)


calls = [(3 + 4j,), (-1j,)]

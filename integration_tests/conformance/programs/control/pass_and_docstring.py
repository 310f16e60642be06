"""pass, ..., a docstring, and strings as statements."""


def f(n: int):
    """Says nothing."""
    pass
    "also nothing"
    if n > 0:
        pass
    else:
        n = -n
    return n


calls = [(3,), (-2,)]

"""f-strings."""


def f(a: int, b: str, c: float):
    return f"{a} and {b}: {c}", f"", f"{a}{b}", f"{a + 1} {b.upper()}", f"{{{a}}}"


calls = [(1, "x", 2.5)]

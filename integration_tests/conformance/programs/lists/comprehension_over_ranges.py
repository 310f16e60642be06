"""Comprehensions over range, enumerate, zip and a string."""

from typing import List


def f(n: int, l: List[str]):
    return (
        [i * i for i in range(n)],
        [str(i) + s for i, s in enumerate(l)],
        [a + b for a, b in zip(l, l)],
        [c for c in "abc"],
    )


calls = [(3, ["x", "y"]), (0, [])]

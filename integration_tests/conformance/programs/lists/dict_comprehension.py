"""Dict comprehensions."""

from typing import List


def f(l: List[str]):
    return {s: len(s) for s in l}, {i: s for i, s in enumerate(l)}, {s: 1 for s in l if s != "a"}


calls = [(["a", "bb"],), ([],)]

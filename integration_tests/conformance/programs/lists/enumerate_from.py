"""enumerate with a start."""

from typing import List


def f(a: List[str]):
    out: List[str] = []
    for i, x in enumerate(a, 5):
        out.append(str(i) + x)
    for i, x in enumerate(a, start=-1):
        out.append(str(i) + x)
    return out


calls = [(["a", "b"],), ([],)]

"""zip stops at the shortest."""

from typing import List


def f(a: List[int], b: List[str]):
    out: List[str] = []
    for x, y in zip(a, b):
        out.append(str(x) + y)
    return out


calls = [([1, 2, 3], ["a", "b"]), ([], ["a"]), ([1], ["a"])]

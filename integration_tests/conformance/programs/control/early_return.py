"""Returns in branches and loops."""

from typing import List


def f(l: List[int], x: int) -> int:
    for i, v in enumerate(l):
        if v == x:
            return i
        if v < 0:
            break
    else_ = len(l)
    if else_ == 0:
        return -2
    return -1


calls = [([1, 2, 3], 2), ([1, -1, 3], 3), ([], 1)]

"""An Optional int, of an argument and of a list, is an int behind a test for None, and may be used before it too."""

from typing import List, Optional


def f(n: Optional[int], l: List[Optional[int]]):
    kept = [n]
    first = l[0]
    kept.append(first)
    sum = 0
    if n is not None:
        sum += n * 2
    if first is not None:
        sum += first * 3
    return sum, kept


calls = [(3, [4, None]), (None, [None, 4]), (0, [0])]

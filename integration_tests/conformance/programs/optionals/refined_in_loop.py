"""Narrowing inside of a loop, by continue and break."""

from typing import List, Optional


def f(l: List[Optional[int]]):
    s = 0
    for x in l:
        if x is None:
            continue
        s += x
    for x in l:
        if x is None:
            break
        s += x
    return s


calls = [([1, None, 3],), ([],), ([None],)]

"""Iterating over a string gives bytes; list() too."""

from typing import List


def f(s: str):
    out: List[str] = []
    for c in s:
        out.append(c + ".")
    return out, list(s), [c for c in s]


calls = [("abc",), ("",)]

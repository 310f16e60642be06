"""Appending what the list does not take."""

from typing import List


def f():
    l: List[int] = []
    l.append("x")
    return l


calls = [()]

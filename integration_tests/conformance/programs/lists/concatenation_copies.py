"""+ makes a new list, += changes the old one."""

from typing import List


def f(l: List[int], m: List[int]):
    a = l
    b = l + m
    l += m
    l.append(7)
    return a, b, l


calls = [([1], [2]), ([], [])]

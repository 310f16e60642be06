"""Tuples are no keys."""

from typing import Dict, Tuple


def f():
    d: Dict[Tuple[int, int], int] = {}
    return d


calls = [()]

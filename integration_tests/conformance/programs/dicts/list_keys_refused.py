"""Keys that cannot be hashed."""

from typing import Dict, List


def f():
    d: Dict[List[int], int] = {}
    return d


calls = [()]

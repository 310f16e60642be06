"""Loops over dicts."""

from typing import Dict, List


def f(d: Dict[str, int]):
    a: List[str] = []
    n = 0
    for k in d:
        a.append(k)
    for k, v in d.items():
        n += v
    for v in d.values():
        n += v
    for i, k in enumerate(d.keys()):
        a.append(k + str(i))
    return a, n


calls = [({"x": 1, "y": 2},), ({},)]

"""setdefault, update, clear, copy."""

from typing import Dict


def f(d: Dict[str, int], e: Dict[str, int]):
    a = d.setdefault("a", 7)
    b = d.setdefault("q", 8)
    c = d.copy()
    d.update(e)
    g = dict(d)
    d.clear()
    return a, b, c, d, g, e


calls = [({"a": 1}, {"q": 5, "r": 6}), ({}, {})]

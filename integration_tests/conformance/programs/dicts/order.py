"""Insertion order; update keeps the place, delete and insert moves to the end."""

from typing import Dict


def f(d: Dict[str, int]):
    d["a"] = 10
    d["c"] = 3
    del d["b"]
    d["b"] = 20
    return list(d.keys()), list(d.values()), d


calls = [({"a": 1, "b": 2},)]

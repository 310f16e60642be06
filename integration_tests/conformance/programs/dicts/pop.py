"""pop with and without a default."""

from typing import Dict


def f(d: Dict[str, int], k: str):
    a = d.pop(k, -1)
    b = d.pop("a")
    return a, b, d


calls = [({"a": 1, "b": 2}, "b"), ({"a": 1}, "x"), ({"a": 1}, "a"), ({}, "x")]

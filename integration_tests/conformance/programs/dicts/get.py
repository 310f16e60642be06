"""get with and without a default."""

from typing import Dict


def f(d: Dict[str, int], k: str):
    return d.get(k), d.get(k, -1)


calls = [({"a": 1}, "a"), ({"a": 1}, "b"), ({}, "")]

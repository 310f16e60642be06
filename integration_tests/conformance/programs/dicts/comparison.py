"""== and != of dicts."""

from typing import Dict


def f(a: Dict[str, int], b: Dict[str, int]):
    return a == b, a != b


calls = [({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({"a": 1}, {"a": 2}), ({}, {})]

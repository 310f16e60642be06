"""A key that the dict does not take."""

from typing import Dict


def f(d: Dict[str, int]):
    return d[1]


calls = [({"a": 1},)]

"""popitem takes the first."""

from typing import Dict


def f(d: Dict[str, int]):
    return d.popitem(), d


calls = [({"a": 1, "b": 2},), ({},)]

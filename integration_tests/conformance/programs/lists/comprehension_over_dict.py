"""Comprehensions over a dict."""

from typing import Dict


def f(d: Dict[str, int]):
    return [k for k in d], [v for v in d.values()], [k + str(v) for k, v in d.items()], [k for k in d.keys()]


calls = [({"a": 1, "b": 2},), ({},)]

"""Loops run over a snapshot of keys and items."""

from typing import Dict, List


def f(d: Dict[str, int]):
    out: List[str] = []
    for k in d:
        d[k + "x"] = 1
        out.append(k)
    for k, v in d.items():
        d[k] = v + 100
        out.append(k + str(v))
    return out, d


calls = [({"a": 1, "b": 2},)]

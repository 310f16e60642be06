"""Dicts in dicts."""

from typing import Dict


def f(d: Dict[str, Dict[str, int]]):
    d["x"]["y"] = 3
    e = d["x"]
    e["z"] = d["x"]["y"] + 1
    return d


calls = [({"x": {}},)]

"""The errors of missing keys of every type."""

from typing import Dict


def f(d: Dict[str, int]):
    return d["zz"]


def g(d: Dict[int, int]):
    return d[7]


def h(d: Dict[float, int]):
    return d[1.5]


def i(d: Dict[bool, int]):
    return d[True]


calls = {"f": [({"a": 1},)], "g": [({1: 1},)], "h": [({1.0: 1},)], "i": [({False: 1},)]}

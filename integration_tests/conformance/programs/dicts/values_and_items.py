"""keys, values and items are lists."""

from typing import Dict


def f(d: Dict[int, float]):
    ks = d.keys()
    vs = d.values()
    its = d.items()
    d[100] = 1.0
    return ks, vs, its, len(ks)


calls = [({1: 0.5, 2: 0.25},), ({},)]

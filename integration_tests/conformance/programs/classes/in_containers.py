"""Objects in dicts, tuples and optionals."""

from typing import Dict, Optional


class I:
    def __init__(self, v: int):
        self.v = v


def f(n: int):
    d: Dict[str, I] = {"a": I(n)}
    d["a"].v += 1
    t = (d["a"], n)
    t[0].v += 1
    o: Optional[I] = None
    if n > 0:
        o = d["a"]
    r = -1
    if o is not None:
        r = o.v
    return d["a"].v, r


calls = [(1,), (-1,)]

"""Reading, writing, length, membership."""

from typing import Dict


def f(d: Dict[str, int], k: str):
    d["z"] = 26
    return d[k], len(d), k in d, k not in d, d


calls = [({"a": 1}, "a"), ({"a": 1}, "z"), ({"a": 1}, "q")]

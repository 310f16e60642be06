"""Lists as values are references."""

from typing import Dict, List


def f(d: Dict[str, List[int]]):
    d["a"].append(5)
    x = d["a"]
    x += [6]
    if "b" not in d:
        d["b"] = []
    d["b"].append(1)
    return d


calls = [({"a": [1]},), ({"a": [], "b": [2]},)]

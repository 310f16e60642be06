"""__setitem__ and __delitem__."""

from typing import Dict


class Store:
    def __init__(self):
        self.d: Dict[str, int] = {}

    def __setitem__(self, k: str, v: int):
        self.d[k] = v

    def __getitem__(self, k: str) -> int:
        return self.d[k]

    def __delitem__(self, k: str):
        del self.d[k]


def f(k: str):
    s = Store()
    s[k] = 1
    s["z"] = 2
    s[k] += 5
    a = s[k]
    del s["z"]
    return a, s.d


calls = [("a",), ("z",)]

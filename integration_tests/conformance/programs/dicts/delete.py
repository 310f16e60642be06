"""del of what is there and what is not."""

from typing import Dict


def f(d: Dict[int, str], k: int):
    del d[k]
    return d


calls = [({1: "a", 2: "b"}, 1), ({1: "a"}, 5)]

"""dict() of keywords, pairs and another dict."""

from typing import List, Tuple


def f(l: List[Tuple[str, int]]):
    return dict(a=1, b=2), dict(l), dict({"x": 1.5})


calls = [([("p", 1), ("q", 2), ("p", 3)],), ([],)]
